#include "cli/args/frontier_command_line.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/args/option_checks.h"
#include "cli/args/plan_command_line.h"
#include "cli/args/shared_options.h"

namespace tangram {
namespace {

constexpr char kCosts[] = "Costs";

CLI::Option* AddNumber(CLI::App& app, const char* name,
                       std::optional<double>& value, const char* type,
                       const char* help) {
  return AddOptional(app, name, value, help)
      ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"))
      ->type_name(type)
      ->group(kCosts);
}

void AddPrices(CLI::App& app, FrontierOptions& frontier) {
  app.add_option("--prices", frontier.prices,
                 "Prices of a node of each group for an hour, in any currency, "
                 "or a CSV file with them: group,price,spot_price or "
                 "SkyPilot's catalogue")
      ->type_name("GROUP=X,...|FILE")
      ->group(kCosts);
  app.add_option("--region", frontier.region,
                 "Take prices of this region from the file [the cheapest]")
      ->group(kCosts);
  app.add_flag("--spot", frontier.spot, "Take spot prices from the file")
      ->group(kCosts);
}

void AddCosts(CLI::App& app, FrontierOptions& frontier) {
  AddPrices(app, frontier);
  AddNumber(app, "--tokens", frontier.tokens, "N", "Tokens to train");
  AddNumber(app, "--deadline", frontier.deadline_hours, "HOURS",
            "Name the cheapest allocation that trains them in time");
  AddNumber(app, "--budget", frontier.budget, "X",
            "Name the fastest allocation that trains them for at most X");
  AddOptional(app, "--certainty", frontier.certainty,
              "Meet the deadline with this probability, by the band of "
              "predictions [0.5]")
      ->check(NumberWithin(0.5, 0.999))
      ->type_name("P")
      ->group(kCosts);
  AddNumber(app, "--hour-is-worth", frontier.price_of_an_hour, "X",
            "Name the allocation with the least price, with an hour of "
            "training at X");
  app.add_option("--failures", frontier.failures,
                 "Failures of a node of each group in an hour; interruptions, "
                 "of spot instances [0]")
      ->type_name("GROUP=X,...")
      ->group(kCosts);
  AddNumber(app, "--checkpoint", frontier.checkpoint_s, "SECONDS",
            "Time to write a checkpoint [0]");
  AddNumber(app, "--restart", frontier.restart_s, "SECONDS",
            "Time from a failure until training goes on [0]");
  app.add_option("--power", frontier.power,
                 "Watts of a GPU of each group, idle and busy [of the device "
                 "catalogue]")
      ->type_name("GROUP=IDLE..BUSY,...")
      ->group(kCosts);
  AddOptional(app, "--pue", frontier.power_usage_effectiveness,
              "Power of the site for each watt of its GPUs, at least 1 [1]")
      ->check(NumberAbove(1, /*inclusive=*/true, "a number of at least 1"))
      ->type_name("X")
      ->group(kCosts);
  AddNumber(app, "--carbon", frontier.grams_per_kwh, "GRAMS",
            "Carbon dioxide of a kWh");
  AddOptional(app, "--least-free", frontier.least_memory_free,
              "Choose only plans that leave this share of each GPU's memory "
              "free")
      ->check(NumberWithin(0, 1))
      ->type_name("FRACTION")
      ->group(kCosts);
}

}  // namespace

void AddFrontier(CLI::App& app, FrontierOptions& frontier) {
  PlanOptions& plan = frontier.plan;
  AddPlanning(app, plan);
  const std::vector<CLI::Option*> of_planning =
      app.get_options([](const CLI::Option* option) {
        return !option->check_name("--help") && !option->check_name("--format");
      });
  // Answers that are read need no request.
  app.get_option("--model")->required(false);
  app.get_option("--global-batch")->required(false);
  app.parse_complete_callback([&app, &frontier, of_planning] {
    const bool reads = !frontier.from_file.empty();
    for (const char* name : {"--model", "--global-batch"}) {
      const bool given = app.get_option(name)->count() > 0;
      if (!reads && !given) throw CLI::RequiredError(name);
    }
    const ClusterChoice& cluster = frontier.plan.cluster;
    if (!reads && cluster.file.empty() && cluster.nodes.empty()) {
      throw CLI::RequiredError("--cluster");
    }
    if (frontier.page_file == "-" && frontier.csv_file == "-") {
      throw CLI::ExcludesError("--page -", "--csv -");
    }
    if (frontier.page_file == "-" && frontier.streams) {
      throw CLI::ExcludesError("--page -", "--stream");
    }
    if (!reads) return;
    std::vector<const CLI::Option*> unread(of_planning.begin(),
                                           of_planning.end());
    for (const char* name : {"--set", "--output", "--stream", "--timeout"}) {
      unread.push_back(app.get_option(name));
    }
    for (const CLI::Option* option : unread) {
      if (option->count() > 0) {
        throw CLI::ExcludesError("--from", option->get_name());
      }
    }
  });
  app.get_option("--nodes")
      ->description(
          "Numbers of nodes of each group: 2, 0..8, 0..8:2, 1..16:x2, 1|2|4; "
          "all, of groups that are not named [0 to all of every group]")
      ->type_name("GROUP=NUMBERS,...");
  app.add_option("--set", frontier.sets,
                 "Also, or without --nodes only, these allocations: "
                 "near:GROUP=N,... with at most one node more or less of each "
                 "group; sia: 1, 2, 4, .. nodes of one group; gavel:N: N GPUs "
                 "of one group; may be given several times")
      ->type_name("SET")
      ->allow_extra_args(false);
  app.add_option("--from", frontier.from_file,
                 "Take the answers of this file of --format json instead of "
                 "planning")
      ->type_name("FILE");
  AddCosts(app, frontier);
  AddOptional(app, "--timeout", plan.timeout_s,
              "Plan for this many seconds, and print what is known then")
      ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"));
  app.add_option("--csv", frontier.csv_file,
                 "Write the table as CSV; -: to standard output")
      ->type_name("FILE");
  app.add_option("-o,--output", frontier.output_folder,
                 "Write the plan of each allocation into this folder; make it "
                 "if it is missing")
      ->type_name("FOLDER");
  app.add_flag("--stream", frontier.streams,
               "Print a line of JSON for each allocation as soon as it is "
               "known, and no table");
  app.add_option("--page", frontier.page_file,
                 "Write a page with a plot of the allocations; -: to standard "
                 "output, instead of the table")
      ->type_name("FILE");
  AddProgress(app, plan.progress);
}

void AddMove(CLI::App& app, MoveOptions& move) {
  app.add_option("old", move.old_file, "Plan file that is being trained")
      ->required()
      ->type_name("OLD.json");
  app.add_option("new", move.new_file, "Plan file that replaces it")
      ->required()
      ->type_name("NEW.json");
  app.add_option("--lost", move.lost_nodes,
                 "This node is lost with what it held; may be given several "
                 "times")
      ->type_name("NODE")
      ->allow_extra_args(false);
}

void AddAdvise(CLI::App& app, AdviseOptions& advise) {
  app.add_option("frontiers", advise.frontier_files,
                 "Frontiers of the jobs, by tangram frontier --format json on "
                 "the same cluster; 3*FILE counts three times")
      ->type_name("[WEIGHT*]FILE");
  app.add_option("--base", advise.base,
                 "The nodes there are; the frontiers may have more [all]")
      ->type_name("GROUP=N,...");
  app.add_option("--prices", advise.prices,
                 "Prices of a node of each group for an hour, or a CSV file "
                 "with them, as for frontier")
      ->type_name("GROUP=X,...|FILE");
  app.add_option("--power", advise.power,
                 "Watts of a GPU of each group, idle and busy [of the device "
                 "catalogue]")
      ->type_name("GROUP=IDLE..BUSY,...");
  app.add_option("--plan", advise.plan_file,
                 "Say what binds this plan: the compute of which GPUs, memory, "
                 "which links")
      ->type_name("PLAN.json");
  app.parse_complete_callback([&advise] {
    if (!advise.frontier_files.empty() || !advise.plan_file.empty()) return;
    throw CLI::RequiredError("frontiers");
  });
}

}  // namespace tangram
