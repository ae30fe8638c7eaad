#ifndef TANGRAM_CLI_ARGS_OPTIONS_H_
#define TANGRAM_CLI_ARGS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/args/detail.h"
#include "cli/args/job_options.h"
#include "cli/args/job_settings.h"
#include "common/security/channel.h"
#include "coordinator/islands/build_islands.h"
#include "coordinator/planners/tangram/tangram_options.h"

// The options of each subcommand as plain values. docs/cli.md describes them at
// more length.
namespace tangram {

// The cluster: a file, and the number of nodes to keep of some of its groups.
// Or no file, and the number of cloud instances of each type.
struct ClusterChoice {
  std::string file;                   // YAML or JSON; empty: of instances.
  std::string nodes;                  // "t4=2,v100=2"; empty: all.
  std::vector<std::string> profiles;  // Files, each for GPUs of its type.
  // The framework of the plans, which a profile's memory must be of. Empty:
  // any.
  std::string framework;
  std::string constants_file;  // See calibrated_constants.h.
  // Share of each GPU's memory that new plans leave free; empty: the default.
  std::optional<double> memory_margin;
};

// The model: a built-in name or a file, and the number of transformer layers.
struct ModelChoice {
  std::string name_or_file;
  std::optional<int> num_layers;  // Empty: the model's own.
};

// How the model is trained. The switches are those of TrainingOptions.
struct TrainingChoice {
  int global_batch_size = 0;           // Sequences per iteration.
  std::optional<int> sequence_length;  // Tokens; empty: the model's usual one.
  std::string precision;  // fp32, fp16, bf16 or fp8; empty: by the model.
  std::string optimizer = "adam";  // adam or sgd.
  bool flash_attention = true;
  bool dropout = true;
  bool fp32_gradients = false;
  bool overlap_grad_reduce = false;
  bool blocking_transfers = false;
  bool gradient_copy = false;
  bool bf16_moments = false;
  bool fused_loss = false;
};

// The constraints on a plan, as they were typed.
struct ConstraintChoice {
  std::vector<std::string> exclude_nodes;  // "t4-0", "t4", "t4-[0-3]".
  std::vector<std::string> exclude_islands;
  std::vector<std::string> tp_degrees;  // "4", "a100=4".
  std::vector<std::string> dp_degrees;
  std::vector<std::string> cp_degrees;
  std::vector<std::string> max_stages;
  std::vector<std::string> pins;  // "0-11=a100", "head=h100".
  std::string runtime;            // Empty: auto.
  // "none", "selective", "full"; empty: free.
  std::optional<std::string> recompute;
  std::optional<int> pp_degree;
  std::optional<int> ep_degree;
  std::optional<int> zero_stage;
  std::optional<int> zero_degree;
  std::optional<int> virtual_stages;
  std::optional<std::string> schedule;  // "1f1b".
};

// The questions about an answer, and how much of it is printed.
struct AnswerChoice {
  std::optional<double> tokens;  // To train; empty: not said.
  std::string prices;            // As in FrontierOptions.
  Detail detail = Detail::kUsual;
};

// When a progress line is drawn; kAuto: if standard error is a terminal.
enum class ProgressMode { kAuto, kAlways, kNever };
// The format of a trace: Chrome's JSON, or OpenTelemetry's (OTLP).
enum class TraceFormat { kChrome, kOtlp };

struct PlanOptions {
  ClusterChoice cluster;
  ModelChoice model;
  TrainingChoice training;
  // Those to plan for, of which `training` has the first. Empty: the one of
  // `training`.
  std::vector<int> global_batch_sizes;
  ConstraintChoice constraints;
  int pipeline_microbatch_size = 0;          // 0: search.
  std::string parallelizer;                  // Empty: by the model.
  std::string planner;                       // Empty: the default.
  std::vector<std::string> planner_options;  // "NAME=VALUE".
  int num_threads = 0;                       // 0: one a core.
  TangramOptions search;
  CoordinatorAccess coordinator;  // Without an address: this process.
  std::string job_id;             // Empty: plan in one call, without a job.
  int priority = 0;               // Higher values run first.
  JobSettings job;
  bool skip_cache = false;          // Plan again on the coordinator.
  bool detach = false;              // Submit the job and exit.
  bool prepare_node_loss = false;   // Also plan for the loss of a node.
  std::optional<double> timeout_s;  // Empty: none.
  std::string output_file;          // "-": standard output.
  std::string request_file;         // Write the request and plan nothing.
  bool dry_run = false;             // Print an upper bound of the cost only.
  std::string timeline_file;        // Schedule of one iteration; empty: none.
  std::string trace_file;           // Trace of planning; empty: none.
  TraceFormat trace_format = TraceFormat::kChrome;
  ProgressMode progress = ProgressMode::kAuto;
  AnswerChoice answer;
  bool quiet = false;  // Print no plan and no progress.
};

// One request for several planners. `plan` holds the options of the request, of
// the search and of the coordinator.
struct CompareOptions {
  PlanOptions plan;
  std::vector<std::string> planners;  // Empty: all.
  // "PLANNER.NAME=VALUE".
  std::vector<std::string> planner_options;
  std::string output_folder;  // Keeps the answers; empty: none.
};

// One request for many allocations of a cluster. `plan` holds the options of
// the request, of the search and of the coordinator; its cluster's `nodes` are
// a lattice (ParseNodeLattice).
struct FrontierOptions {
  PlanOptions plan;
  std::vector<std::string> sets;  // "near:h100=4,a100=2", "sia", "gavel:16".
  // A frontier in JSON whose answers are taken instead of planning.
  std::string from_file;
  // "h100=98.3,a100=32.8", a node-hour, or a CSV file; empty: unknown.
  std::string prices;
  std::string region;            // Counts in a file of prices; empty: all.
  bool spot = false;             // Take spot prices.
  std::optional<double> tokens;  // To train; empty: unknown.
  std::optional<double> deadline_hours;  // To train them.
  std::optional<double> budget;          // Price of training them.
  std::optional<double> certainty;       // Probability to meet the deadline.
  std::optional<double> price_of_an_hour;
  std::string failures;  // "h100=0.001,..": of a node, in an hour.
  std::optional<double> checkpoint_s;
  std::optional<double> restart_s;
  std::string power;  // "h100=90..700,..": watts of a GPU, idle and busy.
  std::optional<double> power_usage_effectiveness;
  std::optional<double> grams_per_kwh;
  std::optional<double> least_memory_free;
  bool streams = false;       // Print each answer as it comes.
  std::string csv_file;       // "-": standard output; empty: none.
  std::string page_file;      // A page with the plot; empty: none.
  std::string output_folder;  // Keeps the plans; empty: none.
};

// Two plans, of which one replaces the other.
struct MoveOptions {
  std::string old_file;
  std::string new_file;
  std::vector<std::string> lost_nodes;  // They hold nothing any more.
};

// Jobs, each with a frontier, for which to buy, retire and re-wire nodes.
struct AdviseOptions {
  std::vector<std::string> frontier_files;  // "FILE" or "WEIGHT*FILE".
  std::string base;    // "h100=2,a100=4", the nodes there are; empty: all.
  std::string prices;  // As of FrontierOptions.
  std::string power;
  std::string plan_file;  // A plan whose limits are found; empty: none.
};

struct IslandsOptions {
  ClusterChoice cluster;
  IslandTolerances tolerances;
  std::string precision = "fp16";
};

struct EvaluateOptions {
  std::string plan_file;
  ClusterChoice cluster;  // Empty file: the plan file's.
  ModelChoice model;      // Empty name: the plan file's.
  AnswerChoice answer;
  std::string timeline_file;
  std::string output_file;
};

struct ExplainOptions {
  std::string plan_file;
  AnswerChoice answer = {.detail = Detail::kAll};
  std::string against_file;
};

struct DiffOptions {
  std::string plan_file;
  std::vector<std::string> other_files;  // A plan file, or a framework's files.
  std::string format;  // The framework of other_files; empty: a plan file.
};

struct ReportOptions {
  std::vector<std::string> plan_files;
  std::string output_file = "-";  // Standard output.
};

struct RunOptions {
  std::string plan_file;
  bool tiny = false;   // Shrink all sizes, keep the structure.
  bool check = false;  // Compare with one process.
  // Time this machine, predict the run from that, and print both.
  bool measure = false;
  std::string profile_folder;  // Keep these times there. Empty: nowhere.
  int max_processes = 0;       // 0: as many as the runner starts at most.
  int steps = 1;
  int64_t seed = 1;  // The first weights and the tokens depend on it.
};

struct ExportOptions {
  std::string plan_file;
  std::string target;
  std::string output_folder;  // Empty: print the files.
  bool allow_lossy = false;
};

struct ImportPlanOptions {
  std::string format;
  std::vector<std::string> files;
  std::string like_file;  // Plan file with cluster, model and training.
  ClusterChoice cluster;  // Used, as the next two, without like_file.
  ModelChoice model;
  TrainingChoice training;
  std::string output_file = "-";  // Standard output.
};

struct ImportProfileOptions {
  std::string format;
  std::vector<std::string> files;
  std::string output_file = "-";  // Standard output.
  std::string device;             // Empty: as in the files.
  ModelChoice model;              // Empty name: as in the files.
  std::string precision;          // Empty: as in the files.
  std::optional<int> sequence_length;
};

// A file of `import cluster`, as it was typed.
struct ClusterInput {
  std::string argument;  // "smi.xml", or "a100-1=smi.xml" with a scope.
  std::string flag;      // "--slurm": its format; empty: by its content.
};

struct ImportClusterOptions {
  std::vector<ClusterInput> inputs;
  std::string own_cluster_file;        // Empty: none.
  std::vector<std::string> gpu_types;  // "a100=A100-40".
  std::string nodes;                   // Hostlist; empty: all.
  std::vector<std::string> partitions;
  bool free_gpus_only = false;
  bool flat = false;
  std::string name;               // Empty: by the output file.
  std::string output_file = "-";  // Standard output.
};

struct ImportModelOptions {
  std::string config_file;        // "-": standard input.
  std::string output_file = "-";  // Standard output.
};

// The times of the cost model as files of another planner.
struct ExportProfileOptions {
  std::string target;
  ClusterChoice cluster;
  ModelChoice model;
  TrainingChoice training;
  int max_tp_degree = 8;
  int max_samples = 8;
  std::string output_folder;
};

struct ShowProfileOptions {
  std::string file;
};

struct ValidateOptions {
  std::vector<std::string> files;  // CSV, see docs/validation.md.
  std::vector<std::string> profiles;
  std::string cluster_file;  // Describes GPUs; empty: those of the catalogue.
  int calibration_rows = 0;
  uint64_t seed = 0;
  bool include_flagged = false;
  int worst_rows = 3;
  bool leave_one_source_out = false;
  std::optional<double> memory_margin;  // As in ClusterChoice.
  std::string residuals_file;  // For the bands of predictions; empty: none.
  // Predictions as CSV, or fitted constants as YAML; empty: none.
  std::string output_file;
  bool markdown = false;  // Print the table of scores alone, as Markdown.
};

struct ModelsOptions {};
struct DevicesOptions {
  std::string device;  // Empty: all.
};
struct ParallelizersOptions {};
struct PlannersOptions {};
struct VersionOptions {};

struct HealthOptions {
  CoordinatorAccess coordinator;
  double timeout_s = 5;
};

struct ListJobsOptions {
  CoordinatorAccess coordinator;
  int limit = 20;
  std::string filter;    // As in ListJobsRequest.
  std::string order_by;  // As there.
};

struct ShowJobOptions {
  CoordinatorAccess coordinator;
  std::string job_id;
  std::string output_file;  // Gets the job's plan; empty: none.
};
struct WatchJobOptions {
  CoordinatorAccess coordinator;
  std::string job_id;
  std::string output_file;
  ProgressMode progress = ProgressMode::kAuto;
};
struct TraceJobOptions {
  CoordinatorAccess coordinator;
  std::string job_id;
  std::string output_file = "-";
  TraceFormat format = TraceFormat::kChrome;
};
struct CancelJobOptions {
  CoordinatorAccess coordinator;
  std::string job_id;
};

struct ListWorkersOptions {
  CoordinatorAccess coordinator;
};

struct ReleaseWorkerOptions {
  CoordinatorAccess coordinator;
  std::string name;
};

struct TopOptions {
  CoordinatorAccess coordinator;
  bool once = false;
  double interval_s = 2;
  int limit = 20;  // Workers to show.
};

// `completion SHELL` prints the script that a shell loads.
struct CompletionOptions {
  std::string shell;  // bash, fish or zsh.
};
// `__complete WORD...` is what that script calls.
struct CompleteOptions {
  std::vector<std::string> words;  // The last one is completed.
};

// `manual FOLDER` writes the manual pages, for packages.
struct ManualOptions {
  std::string folder;
};

// Prints `text`.
struct HelpOptions {
  std::string text;
};

using Command = std::variant<
    PlanOptions, CompareOptions, FrontierOptions, MoveOptions, AdviseOptions,
    IslandsOptions, EvaluateOptions, ExplainOptions, DiffOptions, ReportOptions,
    RunOptions, ExportOptions, ImportPlanOptions, ImportClusterOptions,
    ImportModelOptions, ImportProfileOptions, ShowProfileOptions,
    ExportProfileOptions, ValidateOptions, ModelsOptions, DevicesOptions,
    ParallelizersOptions, PlannersOptions, HealthOptions, ListJobsOptions,
    ShowJobOptions, WatchJobOptions, TraceJobOptions, ListWorkersOptions,
    ReleaseWorkerOptions, TopOptions, CancelJobOptions, DeleteJobOptions,
    RetryJobOptions, UpdateJobOptions, WaitJobOptions, TenantUsageOptions,
    ExportTenantOptions, EraseTenantOptions, CompletionOptions, CompleteOptions,
    ManualOptions, VersionOptions, HelpOptions>;

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_OPTIONS_H_
