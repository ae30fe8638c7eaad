#include "cli/args/command_line.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "cli/args/compare_command_line.h"
#include "cli/args/coordinator_options.h"
#include "cli/args/examples.h"
#include "cli/args/exit_code.h"
#include "cli/args/framework_command_line.h"
#include "cli/args/frontier_command_line.h"
#include "cli/args/import_command_line.h"
#include "cli/args/measurement_command_line.h"
#include "cli/args/option_checks.h"
#include "cli/args/plan_command_line.h"
#include "cli/args/shared_options.h"
#include "formats/config/nearest_name.h"

namespace tangram {
namespace {

// Column at which the help of an option begins. Most options end before it, and
// the help of longer ones begins on the next line.
constexpr int kHelpColumn = 34;

void AddEvaluate(CLI::App& app, EvaluateOptions& evaluate) {
  app.add_option("plan", evaluate.plan_file, "Plan file")
      ->required()
      ->type_name("PLAN.json");
  AddCluster(app, evaluate.cluster, /*required=*/false);
  AddProfiles(app, evaluate.cluster);
  AddModel(app, evaluate.model, /*required=*/false);
  AddAnswer(app, evaluate.answer);
  app.add_option("--timeline", evaluate.timeline_file,
                 "Write the schedule of one iteration as a Chrome trace")
      ->type_name("FILE");
  app.add_option("-o,--output", evaluate.output_file,
                 "Write the plan with its new evaluation; -: to standard "
                 "output")
      ->type_name("FILE");
}

void AddReport(CLI::App& app, ReportOptions& report) {
  app.add_option("plans", report.plan_files,
                 "Plan files; several are compared with each other")
      ->required()
      ->type_name("PLAN.json");
  app.add_option("-o,--output", report.output_file,
                 "Write the page to this file; -: to standard output [-]")
      ->type_name("FILE.html");
}

void AddRun(CLI::App& app, RunOptions& run) {
  app.add_option("plan", run.plan_file, "Plan file")
      ->required()
      ->type_name("PLAN.json");
  app.add_flag("--tiny", run.tiny,
               "Keep the plan's structure and shrink all sizes and the batch");
  app.add_flag("--check", run.check,
               "Compare the loss and every gradient with one process");
  CLI::Option* measure =
      app.add_flag("--measure", run.measure,
                   "Time this machine, predict the run, and print both")
          ->excludes("--check");
  app.add_option("--profile-folder", run.profile_folder,
                 "Keep the measured profiles and the plan for this machine")
      ->needs(measure)
      ->type_name("FOLDER");
  app.add_option("--max-processes", run.max_processes,
                 "Start at most N processes on this machine [128]")
      ->check(PositiveInteger())
      ->type_name("N");
  app.add_option("--steps", run.steps, "Train for this many iterations")
      ->capture_default_str()
      ->check(PositiveInteger());
  app.add_option("--seed", run.seed,
                 "Draw the first weights and the tokens with this seed")
      ->capture_default_str()
      ->check(WholeNumber(0, INT64_MAX, "a number of at least 0"));
}

// Holds the subcommands and the values that their options are read into. CLI11
// holds references into it, so it must not move.
class Parser {
 public:
  Parser() : app_("Plans LLM training on heterogeneous GPU clusters.") {
    app_.name("tangram");
    app_.footer(HelpFooter());
    app_.require_subcommand(1);
    app_.get_formatter()->column_width(kHelpColumn);
    AddPlan(*Add("plan", "Plan a model on a cluster", plan_), plan_);

    AddCompare(
        *Add("compare", "Compare the plans of several planners", compare_),
        compare_);
    AddFrontier(
        *Add("frontier", "Plan a model on many allocations of a cluster",
             frontier_),
        frontier_);
    AddMove(*Add("move", "Show what replacing a plan by another moves", move_),
            move_);
    AddAdvise(*Add("advise", "Show what to buy, retire and re-wire for jobs",
                   advise_),
              advise_);
    AddIslands();
    AddEvaluate(
        *Add("evaluate", "Predict time and memory of a plan", evaluate_),
        evaluate_);
    AddExplain();
    AddDiff(*Add("diff", "Compare two plans stage by stage", diff_), diff_);
    AddReport(*Add("report", "Make an HTML page of one or more plans", report_),
              report_);
    AddRun(*Add("run", "Train a plan with the reference runtime", run_), run_);

    AddExport(*Add("export", "Write a plan as files of a training framework",
                   export_),
              export_);
    AddImports();
    AddProfile();
    AddValidate(
        *Add("validate", "Compare predictions with measured training runs",
             validate_),
        validate_);

    AddCatalogues();
    AddHealth();
    AddJobs();
    AddTenants();
    AddWorkers();
    AddTop();
    AddShellSupport();
    Add("version", "Show the version", version_);
    // ParseCommandLine turns it into --help.
    app_.add_subcommand("help", "Show the help of a command");
    AddExamples(app_);
    app_.set_version_flag("--version", "", "Show the version and exit");
  }

  CommandTree Describe() const { return TreeOf(app_); }

  absl::StatusOr<Command> Parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants them.
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      return HelpOptions{.text = app_.help()};
    } catch (const CLI::CallForVersion&) {
      return VersionOptions();
    } catch (const CLI::RequiredError& error) {
      return UsageError(AllMissing(error.what()));
    } catch (const CLI::ParseError& error) {
      return UsageError(error.what());
    }
    for (const auto& [subcommand, command] : subcommands_) {
      if (subcommand->parsed()) return command();
    }
    return HelpOptions{.text = app_.help()};
  }

 private:
  void AddIslands() {
    CLI::App* islands =
        Add("islands", "Show the GPU islands of a cluster", islands_);
    AddCluster(*islands, islands_.cluster, /*required=*/true);
    AddTolerances(*islands, islands_.tolerances);
    islands
        ->add_option("--precision", islands_.precision,
                     "Compare peak throughput at this precision")
        ->capture_default_str();
  }

  void AddExplain() {
    CLI::App* explain =
        Add("explain", "Explain why a plan is as fast as it is", explain_);
    explain->add_option("plan", explain_.plan_file, "Plan file")
        ->required()
        ->type_name("PLAN.json");
    AddAnswer(*explain, explain_.answer);
    explain
        ->add_option("--against", explain_.against_file,
                     "Compare with this plan")
        ->type_name("OTHER.json");
  }

  void AddProfile() {
    CLI::App* profile = app_.add_subcommand(
        "profile",
        "Show measured times, or write modelled ones for other planners");
    profile->require_subcommand(1);
    Add(*profile, "show", "Show what a profile holds", show_profile_)
        ->add_option("file", show_profile_.file, "Profile file")
        ->required()
        ->type_name("FILE");
    AddExportProfile(
        *Add(*profile, "export",
             "Write the times of layers as profiles of another planner",
             export_profile_),
        export_profile_);
  }

  // Lists what can be named in other commands.
  void AddCatalogues() {
    Add("models", "List the built-in models", models_);
    Add("devices", "List the GPUs of the catalogue, or show one", devices_)
        ->add_option("gpu", devices_.device,
                     "Show this GPU with the source of every value")
        ->type_name("GPU");
    Add("planners", "List the planners and their options", planners_);
    Add("parallelizers", "List the parallelizers and what they search over",
        parallelizers_);
  }

  void AddHealth() {
    CLI::App* health =
        Add("health", "Ask whether a coordinator serves", health_);
    AddCoordinator(*health, health_.coordinator);
    health
        ->add_option("--timeout", health_.timeout_s,
                     "Wait at most this many seconds")
        ->capture_default_str()
        ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"));
  }

  void AddTop() {
    CLI::App* top =
        Add("top", "Show what a coordinator and its workers do", top_);
    AddCoordinator(*top, top_.coordinator);
    top->add_flag("--once", top_.once, "Show it once and exit");
    top->add_option("--interval", top_.interval_s,
                    "Refresh after this many seconds")
        ->capture_default_str()
        ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"));
    top->add_option("--limit", top_.limit, "Show at most this many workers")
        ->capture_default_str()
        ->check(WholeNumber(1, INT32_MAX, "a positive integer"));
  }

  // Completion scripts and manual pages.
  void AddShellSupport() {
    Add("completion", "Print a completion script for a shell", completion_)
        ->add_option("shell", completion_.shell, "bash, fish or zsh")
        ->required()
        ->type_name("SHELL");
    CLI::App* manual = Add("manual", "Write the manual pages", manual_);
    manual->group("");  // Hidden: packages call it, people do not.
    manual->add_option("folder", manual_.folder, "Folder for the pages")
        ->required()
        ->type_name("DIR");
  }

  void AddImports() {
    CLI::App* import =
        app_.add_subcommand("import", "Read the files of other tools");
    import->require_subcommand(1);
    AddImportCluster(
        *Add(*import, "cluster",
             "Make a cluster file from reports of schedulers and drivers",
             import_cluster_),
        import_cluster_);
    AddImportModel(*Add(*import, "model",
                        "Make a model file from a Hugging Face config.json",
                        import_model_),
                   import_model_);
    AddImportProfile(
        *Add(*import, "profile",
             "Make a profile from other tools' measurements", import_profile_),
        import_profile_);
    CLI::App* plan =
        Add(*import, "plan", "Make a plan from a framework's configuration",
            import_plan_);
    AddImportPlan(*plan, import_plan_);
    AddCluster(*plan, import_plan_.cluster, /*required=*/false);
    AddProfiles(*plan, import_plan_.cluster);
    AddModel(*plan, import_plan_.model, /*required=*/false);
    AddTraining(*plan, import_plan_.training, /*required=*/false);
  }

  void AddJobs() {
    CLI::App* job =
        app_.add_subcommand("job", "Follow planning jobs of a coordinator");
    job->require_subcommand(1);
    CLI::App* list = Add(*job, "list", "List jobs, newest first", list_jobs_);
    AddCoordinator(*list, list_jobs_.coordinator);
    list->add_option("--limit", list_jobs_.limit, "List at most this many jobs")
        ->capture_default_str()
        ->check(WholeNumber(1, INT32_MAX, "a positive integer"));

    list->add_option(
            "--filter", list_jobs_.filter,
            "List only these, e.g. 'state = FAILED AND labels.run = 7'")
        ->type_name("EXPRESSION");
    list->add_option("--order-by", list_jobs_.order_by,
                     "Order by submitted_s, started_s, finished_s, priority or "
                     "job_id, and perhaps \"desc\"")
        ->type_name("FIELD");

    CLI::App* show = Add(*job, "show", "Show a job and its plan", show_job_);
    AddJob(*show, show_job_.coordinator, show_job_.job_id);
    AddOutput(*show, show_job_.output_file);
    CLI::App* watch =
        Add(*job, "watch", "Wait for a job and show its plan", watch_job_);
    AddJob(*watch, watch_job_.coordinator, watch_job_.job_id);
    AddOutput(*watch, watch_job_.output_file);
    AddProgress(*watch, watch_job_.progress);
    CLI::App* trace =
        Add(*job, "trace", "Write what a job spent its time on", trace_job_);
    AddJob(*trace, trace_job_.coordinator, trace_job_.job_id);
    trace
        ->add_option("-o,--output", trace_job_.output_file,
                     "Write the trace to this file; -: to standard output")
        ->capture_default_str()
        ->type_name("FILE");
    AddTraceFormat(*trace, "--format", trace_job_.format);
    CLI::App* cancel = Add(*job, "cancel", "Cancel a job", cancel_job_);
    AddJob(*cancel, cancel_job_.coordinator, cancel_job_.job_id);
    AddJobChanges(*job);
  }

  void AddJobChanges(CLI::App& job) {
    CLI::App* wait = Add(job, "wait", "Wait until a job has ended", wait_job_);
    AddJob(*wait, wait_job_.coordinator, wait_job_.job_id);
    wait->add_option("--timeout", wait_job_.timeout_s,
                     "Give up after this many seconds")
        ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"))
        ->type_name("SECONDS");
    CLI::App* update =
        Add(job, "update", "Change the settings of a job", update_job_);
    AddJob(*update, update_job_.coordinator, update_job_.job_id);
    AddOptional(*update, "--priority", update_job_.priority,
                "Run it before the tenant's jobs of lower priority");
    update
        ->add_option("--label", update_job_.labels,
                     "Replace its labels by these, NAME=VALUE each")
        ->type_name("NAME=VALUE");
    update->add_flag("--clear-labels", update_job_.clear_labels,
                     "Take its labels away");
    AddOptional(*update, "--deadline", update_job_.deadline_s,
                "Let it fail if it has not ended this many seconds from now; "
                "0: never")
        ->check(NumberAbove(0, /*inclusive=*/true, "0 or a positive number"));
    AddOptional(*update, "--keep-days", update_job_.keep_days,
                "Keep it for this many days after its end; 0: as others")
        ->check(NumberAbove(0, /*inclusive=*/true, "0 or a positive number"));
    CLI::App* retry = Add(
        job, "retry", "Queue a job that failed or was cancelled", retry_job_);
    AddJob(*retry, retry_job_.coordinator, retry_job_.job_id);
    retry
        ->add_option("--deadline", retry_job_.deadline_s,
                     "Let it fail if it has not ended this many seconds from "
                     "now")
        ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"))
        ->type_name("SECONDS");
    CLI::App* erase =
        Add(job, "delete", "Delete jobs that have ended", delete_job_);
    AddCoordinator(*erase, delete_job_.coordinator);
    erase->add_option("job", delete_job_.job_ids, "Names of the jobs")
        ->required()
        ->type_name("ID");
    erase->add_flag("--allow-missing", delete_job_.allow_missing,
                    "Accept names of jobs that do not exist");
  }

  void AddTenants() {
    CLI::App* tenant = app_.add_subcommand(
        "tenant", "See, export and erase what a coordinator keeps of a tenant");
    tenant->require_subcommand(1);
    const auto add_name = [](CLI::App& app, std::string& name) {
      return app.add_option("tenant", name, "Name of the tenant")
          ->type_name("NAME");
    };
    CLI::App* usage = Add(*tenant, "usage",
                          "Show what a tenant has and may have", tenant_usage_);
    AddCoordinator(*usage, tenant_usage_.coordinator);
    add_name(*usage, tenant_usage_.tenant);
    CLI::App* dump =
        Add(*tenant, "export",
            "Write all jobs of a tenant, a line of JSON each", export_tenant_);
    AddCoordinator(*dump, export_tenant_.coordinator);
    add_name(*dump, export_tenant_.tenant);
    dump->add_option("-o,--output", export_tenant_.output_file,
                     "Write them to this file; -: to standard output")
        ->capture_default_str()
        ->type_name("FILE");
    CLI::App* erase =
        Add(*tenant, "erase", "Delete all jobs of a tenant", erase_tenant_);
    AddCoordinator(*erase, erase_tenant_.coordinator);
    add_name(*erase, erase_tenant_.tenant)->required();
    erase->add_flag("--yes", erase_tenant_.yes, "Really delete them");
  }

  void AddWorkers() {
    CLI::App* worker =
        app_.add_subcommand("worker", "List and release workers");
    worker->require_subcommand(1);
    CLI::App* list = Add(*worker, "list",
                         "List workers and those in quarantine", list_workers_);
    AddCoordinator(*list, list_workers_.coordinator);
    CLI::App* release = Add(*worker, "release",
                            "Take a worker out of quarantine", release_worker_);
    AddWorker(*release, release_worker_.coordinator, release_worker_.name);
  }

  // Returns the command that the line names: the innermost one.
  const CLI::App& Innermost() const {
    const CLI::App* command = &app_;
    while (!command->get_subcommands().empty()) {
      command = command->get_subcommands().front();
    }
    return *command;
  }

  // Names all options that are missing; CLI11 names one at a time.
  std::string AllMissing(const std::string& message) const {
    std::vector<std::string> missing;
    for (const CLI::Option* option : Innermost().get_options()) {
      if (option->get_required() && option->count() == 0) {
        missing.push_back(option->get_name());
      }
    }
    if (missing.size() < 2) return message;
    const std::string last = std::move(missing.back());
    missing.pop_back();
    return absl::StrCat(absl::StrJoin(missing, ", "), " and ", last,
                        " are required");
  }

  // Names an unknown word first. CLI11 reports missing options before misspelt
  // ones, but the misspelt one is usually the cause.
  absl::Status UsageError(const std::string& message) const {
    const std::vector<std::string> unknown = app_.remaining(/*recurse=*/true);
    if (unknown.empty()) return absl::InvalidArgumentError(message);
    const CLI::App& command = Innermost();
    const CommandTree tree = TreeOf(command);
    const std::string& word = unknown.front();
    const bool is_option = absl::StartsWith(word, "-");
    const bool is_command = !is_option && !tree.subcommands.empty();
    // "--tp=2" is about "--tp".
    const std::string name = word.substr(0, word.find('='));
    std::vector<absl::string_view> known;
    if (is_option) {
      for (const OptionHelp& option : tree.options) {
        if (!option.is_positional) known.push_back(option.name);
      }
    } else {
      for (const CommandTree& each : tree.subcommands) {
        known.push_back(each.name);
      }
    }
    return absl::InvalidArgumentError(absl::StrCat(
        word, is_command ? ": unknown command" : ": unknown option or argument",
        absl::c_linear_search(known, name) ? "; options end at --"
                                           : DidYouMean(name, known),
        "; see ", HelpCommand(command)));
  }

  // "tangram plan --help"
  static std::string HelpCommand(const CLI::App& command) {
    std::string words = command.get_name();
    for (const CLI::App* parent = command.get_parent(); parent != nullptr;
         parent = parent->get_parent()) {
      words = absl::StrCat(parent->get_name(), " ", words);
    }
    return absl::StrCat(words, " --help");
  }

  template <typename Options>
  CLI::App* Add(const std::string& name, const std::string& help,
                const Options& options) {
    return Add(app_, name, help, options);
  }

  template <typename Options>
  CLI::App* Add(CLI::App& parent, const std::string& name,
                const std::string& help, const Options& options) {
    CLI::App* subcommand = parent.add_subcommand(name, help);
    std::function<Command()> command = [&options] {
      return Command(std::in_place_type<Options>, options);
    };
    subcommands_.emplace_back(subcommand, std::move(command));
    return subcommand;
  }

  CLI::App app_;
  std::vector<std::pair<CLI::App*, std::function<Command()>>> subcommands_;
  PlanOptions plan_;
  CompareOptions compare_;
  FrontierOptions frontier_;
  MoveOptions move_;
  AdviseOptions advise_;
  IslandsOptions islands_;
  EvaluateOptions evaluate_;
  ExplainOptions explain_;
  DiffOptions diff_;
  ReportOptions report_;
  RunOptions run_;
  ImportClusterOptions import_cluster_;
  ImportModelOptions import_model_;
  ExportOptions export_;
  ImportPlanOptions import_plan_;
  ImportProfileOptions import_profile_;
  ShowProfileOptions show_profile_;
  ExportProfileOptions export_profile_;
  ValidateOptions validate_;
  ModelsOptions models_;
  DevicesOptions devices_;
  ParallelizersOptions parallelizers_;
  PlannersOptions planners_;
  HealthOptions health_;
  ListJobsOptions list_jobs_;
  ShowJobOptions show_job_;
  WatchJobOptions watch_job_;
  TraceJobOptions trace_job_;
  CancelJobOptions cancel_job_;
  DeleteJobOptions delete_job_;
  RetryJobOptions retry_job_;
  UpdateJobOptions update_job_;
  WaitJobOptions wait_job_;
  TenantUsageOptions tenant_usage_;
  ExportTenantOptions export_tenant_;
  EraseTenantOptions erase_tenant_;
  ListWorkersOptions list_workers_;
  ReleaseWorkerOptions release_worker_;
  TopOptions top_;
  CompletionOptions completion_;
  ManualOptions manual_;
  VersionOptions version_;
};

// Whether the words before the first option are a command and its parts.
bool IsCommand(absl::Span<const std::string> words) {
  const CommandTree tree = DescribeCommandLine();
  const CommandTree* command = &tree;
  for (const std::string& word : words) {
    if (absl::StartsWith(word, "-")) break;
    command = FindSubcommand(*command, word);
    if (command == nullptr) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Command> ParseCommandLine(std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    // An unknown command has no help, but an error that names the nearest.
    if (IsCommand(arguments)) arguments.emplace_back("--help");
  }
  // The words of __complete are an unfinished command line, so CLI11 cannot
  // parse them.
  if (!arguments.empty() && arguments.front() == "__complete") {
    return CompleteOptions{.words = {arguments.begin() + 1, arguments.end()}};
  }
  return Parser().Parse(std::move(arguments));
}

CommandTree DescribeCommandLine() { return Parser().Describe(); }

}  // namespace tangram
