#include "cli/args/command_line.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/args/coordinator_options.h"
#include "cli/args/exit_code.h"
#include "cli/args/framework_command_line.h"
#include "cli/args/import_command_line.h"
#include "cli/args/option_checks.h"

namespace tangram {
namespace {

constexpr int kHelpColumn = 34;

std::string Footer() {
  std::string footer =
      "\nWith --format json, anywhere on the line, errors and the answer of "
      "diff are JSON:\n"
      "  {\"error\":{\"code\",\"exit_code\",\"message\"}}\n\nExit codes:\n";
  for (const ExitCodeMeaning& entry : ExitCodeMeanings()) {
    absl::StrAppendFormat(&footer, "  %-5d%s\n", static_cast<int>(entry.code),
                          entry.meaning);
  }
  return footer;
}

void AddCluster(CLI::App& app, ClusterChoice& cluster, bool required) {
  app.add_option("--cluster", cluster.file,
                 "Read the cluster from this YAML or JSON file")
      ->required(required)
      ->type_name("FILE");
  app.add_option("--nodes", cluster.nodes,
                 "Keep only N nodes of each of these groups; 0: none")
      ->type_name("GROUP=N,...");
}

void AddModel(CLI::App& app, ModelChoice& model, bool required) {
  app.add_option("--model", model.name_or_file,
                 "Use this built-in model, Hugging Face config or model file")
      ->required(required)
      ->type_name("NAME|FILE");
  AddOptional(app, "--layers", model.num_layers,
              "Change the number of transformer layers")
      ->check(PositiveInteger());
}

void AddTraining(CLI::App& app, TrainingChoice& training, bool required) {
  app.add_option("--global-batch", training.global_batch_size,
                 "Train with this many sequences per iteration")
      ->required(required)
      ->check(PositiveInteger());
  AddOptional(app, "--seq", training.sequence_length,
              "Train with this many tokens per sequence [the model's usual]")
      ->check(PositiveInteger());
  app.add_option("--precision", training.precision,
                 "Train in fp32, fp16, bf16 or fp8")
      ->capture_default_str();
  app.add_option("--optimizer", training.optimizer, "Train with adam or sgd")
      ->capture_default_str();
  AddOffSwitch(app, "--no-flash-attention", training.flash_attention,
               "Plan without flash attention even where GPUs support it");
  AddOffSwitch(app, "--no-dropout", training.dropout,
               "Train without dropout, so that no masks are kept");
  app.add_flag("--accumulate-allreduce-grads-in-fp32", training.fp32_gradients,
               "Keep and reduce gradients in fp32");
  app.add_flag("--overlap-grad-reduce", training.overlap_grad_reduce,
               "Reduce gradients during the last backward pass");
  app.add_flag("--blocking-transfers", training.blocking_transfers,
               "Stall both stages while they exchange a large tensor");
  app.add_flag("--keep-16-bit-grads", training.gradient_copy,
               "Keep 16-bit gradients in memory beside their fp32 sums");
  app.add_flag("--bf16-moments", training.bf16_moments,
               "Keep Adam's moments in 16 bits");
  app.add_flag("--cross-entropy-loss-fusion", training.fused_loss,
               "Keep 16-bit logits for the loss instead of an fp32 softmax");
}

void AddTolerances(CLI::App& app, IslandTolerances& tolerances) {
  const auto add = [&app](const char* name, double& value, const char* help) {
    app.add_option(name, value, help)
        ->capture_default_str()
        ->check(NumberAbove(0, /*inclusive=*/true, "a number of at least 0"))
        ->group("Islands");
  };
  add("--compute-tolerance", tolerances.compute,
      "Allow this relative spread of peak throughput inside an island");
  add("--memory-tolerance", tolerances.memory,
      "Allow this relative spread of memory per GPU inside an island");
  add("--intra-node-tolerance", tolerances.intra_node,
      "Allow this relative spread of bandwidth inside the nodes of an island");
  add("--inter-node-tolerance", tolerances.inter_node,
      "Allow links in an island to be this much slower than links leaving it");
}

void AddSearch(CLI::App& app, PlanOptions& plan) {
  app.add_option("--microbatch", plan.pipeline_microbatch_size,
                 "Use this many samples per pipeline microbatch; 0: search")
      ->check(WholeNumber(0, INT32_MAX, "0 or a positive integer"))
      ->group("Search");
  app.add_option("--parallelizer", plan.parallelizer,
                 "Plan islands with NAME,..., all or exec:COMMAND [aceso; for "
                 "experts, uniform]")
      ->group("Search");
  app.add_option("--planner", plan.planner,
                 "Use this planner; tangram planners lists them [tangram]")
      ->group("Search");
  app.add_option("--planner-option", plan.planner_options,
                 "Set an option of the planner")
      ->type_name("NAME=VALUE")
      ->group("Search");
  app.add_option("--threads", plan.num_threads,
                 "Search with this many threads; 0: one per core")
      ->check(WholeNumber(0, 1024, "0 to 1024"))
      ->group("Search");
  app.add_option("--effort", plan.search.max_search_steps,
                 "Spend this many steps on the whole model, fewer on slices")
      ->capture_default_str()
      ->check(WholeNumber(1, INT64_MAX, "a positive integer"))
      ->group("Search");
  app.add_option("--min-island-gain", plan.search.min_island_gain,
                 "Use more islands only if the plan is faster by this fraction")
      ->capture_default_str()
      ->check(NumberAbove(0, /*inclusive=*/true, "a number of at least 0"))
      ->group("Search");
  PruningOptions& pruning = plan.search.pruning;
  AddOffSwitch(app, "--no-prune-redundant", pruning.redundancy,
               "Ask again for slices that were asked before");
  AddOffSwitch(app, "--no-prune-imbalanced", pruning.imbalance,
               "Keep slices that are too big or too small for their island");
  AddOffSwitch(app, "--no-prune-infeasible", pruning.infeasibility,
               "Keep slices that cannot fit in memory");
  AddOffSwitch(app, "--no-prune-incompatible", pruning.incompatibility,
               "Keep slices that fit no position in a pipeline");
  AddOffSwitch(app, "--no-early-stop", pruning.early_stop,
               "Give small slices the same search effort as large ones");
}

void AddConstraints(CLI::App& app, ConstraintChoice& constraints) {
  const auto add = [&app](const char* name, std::vector<std::string>& values,
                          const char* type, const char* help) {
    app.add_option(name, values, help)
        ->allow_extra_args(false)
        ->type_name(type)
        ->group("Constraints (may be given several times)");
  };
  add("--exclude-node", constraints.exclude_nodes, "NODE|GROUP|t4-[0-3]",
      "Plan without these nodes");
  add("--exclude-island", constraints.exclude_islands, "ISLAND",
      "Leave out this island: its number, name, GPU or group of nodes");
  add("--tp", constraints.tp_degrees, "[ISLAND=]N",
      "Set the tensor-parallel degree of every stage, or of an island's "
      "stages");
  add("--dp", constraints.dp_degrees, "[ISLAND=]N",
      "Set the data-parallel degree of every stage, or of an island's stages");
  add("--max-stages", constraints.max_stages, "[ISLAND=]N",
      "Use at most N pipeline stages, in all or on an island");
  add("--pin", constraints.pins, "LAYERS=ISLAND",
      "Run these layers on an island: emb-11=a100, 12-head=h100, 7=0");
  app.add_option("--runtime", constraints.runtime,
                 "Plan only what this framework can run: a name of tangram "
                 "export --to")
      ->type_name("NAME");
}

std::optional<ProgressMode> ProgressModeOf(const std::string& name) {
  if (name == "auto") return ProgressMode::kAuto;
  if (name == "always") return ProgressMode::kAlways;
  if (name == "never") return ProgressMode::kNever;
  return std::nullopt;
}

void AddProgress(CLI::App& app, ProgressMode& progress) {
  app.add_option_function<std::string>(
         "--progress",
         [&progress](const std::string& name) {
           progress = *ProgressModeOf(name);
         },
         "Show a progress line: always, never or auto, on a terminal only "
         "[auto]")
      ->check(Check(
          [](const std::string& name) {
            return ProgressModeOf(name).has_value();
          },
          "auto, always or never"))
      ->type_name("WHEN");
}

void AddProfiles(CLI::App& app, ClusterChoice& cluster) {
  app.add_option("--profile", cluster.profiles,
                 "Use these measurements for GPUs of their type; may be given "
                 "several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void AddOutput(CLI::App& app, std::string& file) {
  app.add_option("--output", file,
                 "Write the plan as JSON; -: to standard output")
      ->type_name("FILE");
}

void AddTraceFormat(CLI::App& app, const std::string& name,
                    TraceFormat& format) {
  app.add_option_function<std::string>(
         name,
         [&format](const std::string& text) {
           format = text == "otlp" ? TraceFormat::kOtlp : TraceFormat::kChrome;
         },
         "Write the trace as chrome, which Perfetto opens, or otlp [chrome]")
      ->check(Check(
          [](const std::string& text) {
            return text == "chrome" || text == "otlp";
          },
          "chrome or otlp"))
      ->type_name("FORM");
}

constexpr char kPlanFooter[] = R"(
Examples:
  tangram plan --cluster c1.yaml --model gpt3-6.7b --global-batch 128 \
    --output plan.json
  tangram plan --cluster c1.yaml --model llama2-13b --global-batch 128 \
    --runtime megatron --exclude-node t4-3 --max-stages 8
  tangram plan --cluster c1.yaml --model llama2-13b --global-batch 128 \
    --tp v100=2 --pin emb-11=v100
)";

void AddPlan(CLI::App& app, PlanOptions& plan) {
  app.footer(absl::StrCat(kPlanFooter, Footer()));
  AddCluster(app, plan.cluster, /*required=*/true);
  AddProfiles(app, plan.cluster);
  AddModel(app, plan.model, /*required=*/true);
  AddTraining(app, plan.training, /*required=*/true);
  AddConstraints(app, plan.constraints);
  AddSearch(app, plan);
  AddTolerances(app, plan.search.tolerances);
  AddCoordinator(app, plan.coordinator, /*required=*/false,
                 "Plan on this coordinator's workers, not in this process");
  app.add_option("--job", plan.job_id,
                 "Plan as this job, which outlives program and coordinator")
      ->needs("--coordinator")
      ->type_name("ID");
  app.add_option("--priority", plan.priority,
                 "Run before the tenant's jobs of lower priority [0]")
      ->needs("--job");
  app.add_flag("--detach", plan.detach,
               "Submit the job and exit without waiting for it")
      ->needs("--job");
  app.add_flag("--prepare-node-loss", plan.prepare_node_loss,
               "Also submit jobs that plan the cluster without a node of each "
               "group")
      ->needs("--job");
  AddOptional(app, "--timeout", plan.timeout_s,
              "Give up after this many seconds")
      ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"));
  AddOutput(app, plan.output_file);
  app.add_option(
         "--request", plan.request_file,
         "Write the request for a coordinator as JSON and plan nothing; "
         "-: to stdout")
      ->type_name("FILE");
  app.add_flag("--dry-run", plan.dry_run,
               "Print what planning would cost at most, and plan nothing");
  app.add_option("--timeline", plan.timeline_file,
                 "Write the schedule of one iteration as a Chrome trace")
      ->type_name("FILE");
  app.add_option("--trace", plan.trace_file,
                 "Write what planning spent its time on; -: to standard output")
      ->type_name("FILE");
  AddTraceFormat(app, "--trace-format", plan.trace_format);
  app.add_flag("--verbose", plan.verbose,
               "Print where planning time went and what each step left");
  app.add_flag("--quiet", plan.quiet, "Print no plan and no progress");
  AddProgress(app, plan.progress);
}

void AddEvaluate(CLI::App& app, EvaluateOptions& evaluate) {
  app.add_option("plan", evaluate.plan_file, "Plan file")
      ->required()
      ->type_name("PLAN.json");
  AddCluster(app, evaluate.cluster, /*required=*/false);
  AddProfiles(app, evaluate.cluster);
  AddModel(app, evaluate.model, /*required=*/false);
  app.add_option("--timeline", evaluate.timeline_file,
                 "Write the schedule of one iteration as a Chrome trace")
      ->type_name("FILE");
  app.add_option("--output", evaluate.output_file,
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
                 "Write the page to this file; -: to standard output")
      ->required()
      ->type_name("FILE.html");
}

void AddValidate(CLI::App& app, ValidateOptions& validate) {
  app.add_option("measurements", validate.files, "Files of measured runs")
      ->required()
      ->type_name("RUNS.csv");
  app.add_option("--profile", validate.profiles,
                 "Override the cost model with these measurements, one file "
                 "for each GPU type")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--calibrate", validate.calibration_rows,
                 "Fit the constants of each cluster to N of its rows and score "
                 "the others")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  app.add_option("--seed", validate.seed,
                 "Choose the rows to calibrate on with this seed")
      ->capture_default_str();
  app.add_flag("--include-flagged", validate.include_flagged,
               "Also score rows that their source marks as doubtful");
  app.add_option("--worst", validate.worst_rows,
                 "List this many of the worst rows of each source")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--markdown", validate.markdown,
               "Print only the table of scores, as Markdown");
  app.add_option("--output", validate.output_file,
                 "Write measured and predicted values of each row as CSV")
      ->type_name("FILE");
}

// Holds the subcommands and the values that their options are read into. CLI11
// holds references into it, so it must not move.
class Parser {
 public:
  Parser() : app_("Plans LLM training on heterogeneous GPU clusters.") {
    app_.name("tangram");
    app_.footer(Footer());
    app_.require_subcommand(1);
    app_.get_formatter()->column_width(kHelpColumn);
    AddPlan(*Add("plan", "Plan a model on a cluster", plan_), plan_);

    AddIslands();
    AddEvaluate(
        *Add("evaluate", "Predict time and memory of a plan", evaluate_),
        evaluate_);
    AddExplain();
    AddDiff(*Add("diff", "Compare two plans stage by stage", diff_), diff_);
    AddReport(*Add("report", "Make an HTML page of one or more plans", report_),
              report_);

    AddExport(*Add("export", "Write a plan as files of a training framework",
                   export_),
              export_);
    AddImports();
    AddShowProfile();
    AddValidate(
        *Add("validate", "Compare predictions with measured training runs",
             validate_),
        validate_);

    AddCatalogues();
    AddHealth();
    AddJobs();
    AddWorkers();
    AddTop();
    AddShellSupport();
    Add("version", "Show the version", version_);
  }

  CommandTree Describe() const { return TreeOf(app_); }

  absl::StatusOr<Command> Parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants them.
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      return HelpOptions{.text = app_.help()};
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
    explain
        ->add_option("--against", explain_.against_file,
                     "Compare with this plan")
        ->type_name("OTHER.json");
  }

  void AddShowProfile() {
    CLI::App* profile = app_.add_subcommand(
        "profile", "Show measurements that override the cost model");
    profile->require_subcommand(1);
    Add(*profile, "show", "Show what a profile holds", show_profile_)
        ->add_option("file", show_profile_.file, "Profile file")
        ->required()
        ->type_name("FILE");
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

  // Names an unknown word first. CLI11 reports missing options before misspelt
  // ones, but the misspelt one is usually the cause.
  absl::Status UsageError(const std::string& message) const {
    const std::vector<std::string> unknown = app_.remaining(/*recurse=*/true);
    if (unknown.empty()) return absl::InvalidArgumentError(message);
    const bool is_command = app_.get_subcommands().empty();
    return absl::InvalidArgumentError(absl::StrCat(
        unknown.front(),
        is_command ? ": unknown command" : ": unknown option or argument",
        "; see tangram --help"));
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
    subcommands_.emplace_back(subcommand,
                              [&options] { return Command(options); });
    return subcommand;
  }

  CLI::App app_;
  std::vector<std::pair<CLI::App*, std::function<Command()>>> subcommands_;
  PlanOptions plan_;
  IslandsOptions islands_;
  EvaluateOptions evaluate_;
  ExplainOptions explain_;
  DiffOptions diff_;
  ReportOptions report_;
  ImportClusterOptions import_cluster_;
  ImportModelOptions import_model_;
  ExportOptions export_;
  ImportPlanOptions import_plan_;
  ImportProfileOptions import_profile_;
  ShowProfileOptions show_profile_;
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
  ListWorkersOptions list_workers_;
  ReleaseWorkerOptions release_worker_;
  TopOptions top_;
  CompletionOptions completion_;
  ManualOptions manual_;
  VersionOptions version_;
};

}  // namespace

absl::StatusOr<Command> ParseCommandLine(std::vector<std::string> arguments) {
  // The words of __complete are an unfinished command line, so CLI11 cannot
  // parse them.
  if (!arguments.empty() && arguments.front() == "__complete") {
    return CompleteOptions{.words = {arguments.begin() + 1, arguments.end()}};
  }
  return Parser().Parse(std::move(arguments));
}

CommandTree DescribeCommandLine() { return Parser().Describe(); }

}  // namespace tangram
