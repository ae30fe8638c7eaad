#include "cli/args/frontier_command_line.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "cli/args/option_checks.h"
#include "cli/args/plan_command_line.h"
#include "cli/args/shared_options.h"

namespace tangram {
namespace {

void AddCosts(CLI::App& app, FrontierOptions& frontier) {
  constexpr char kCosts[] = "Costs";
  const auto positive = [&](const char* name, std::optional<double>& value,
                            const char* type, const char* help) {
    AddOptional(app, name, value, help)
        ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"))
        ->type_name(type)
        ->group(kCosts);
  };
  app.add_option("--prices", frontier.prices,
                 "Prices of a node of each group for an hour, in any currency")
      ->type_name("GROUP=X,...")
      ->group(kCosts);
  positive("--tokens", frontier.tokens, "N", "Tokens to train");
  positive("--deadline", frontier.deadline_hours, "HOURS",
           "Name the cheapest allocation that trains them in time");
  positive("--budget", frontier.budget, "X",
           "Name the fastest allocation that trains them for at most X");
}

}  // namespace

void AddFrontier(CLI::App& app, FrontierOptions& frontier) {
  PlanOptions& plan = frontier.plan;
  AddPlanning(app, plan);
  app.get_option("--nodes")
      ->description(
          "Numbers of nodes of each group: 2, 0..8, 0..8:2, 1..16:x2, 1|2|4; "
          "all, of groups that are not named [0 to all of every group]")
      ->type_name("GROUP=NUMBERS,...");
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
  AddProgress(app, plan.progress);
}

}  // namespace tangram
