#include "cli/args/plan_command_line.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/args/coordinator_options.h"
#include "cli/args/option_checks.h"
#include "cli/args/shared_options.h"
#include "common/domain/limits.h"

namespace tangram {
namespace {

void AddSearch(CLI::App& app, PlanOptions& plan) {
  app.add_option("--microbatch", plan.pipeline_microbatch_size,
                 "Use this many samples per pipeline microbatch; 0: search")
      ->check(WholeNumber(0, INT32_MAX, "0 or a positive integer"))
      ->group("Search");
  app.add_option("--parallelizer", plan.parallelizer,
                 "Plan islands with NAME,..., all or exec:COMMAND [what suits "
                 "model and runtime]")
      ->group("Search");
  app.add_option("--planner", plan.planner,
                 "Use this planner; tangram planners lists them [tangram]")
      ->group("Search");
  app.add_option("--planner-option", plan.planner_options,
                 "Set an option of the planner")
      ->type_name("NAME=VALUE")
      ->group("Search");
  AddEffort(app, plan);
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
  add("--cp", constraints.cp_degrees, "[ISLAND=]N",
      "Set the context-parallel degree of every stage, or of an island's "
      "stages");
  add("--max-stages", constraints.max_stages, "[ISLAND=]N",
      "Use at most N pipeline stages, in all or on an island; chunks do "
      "not count");
  add("--pin", constraints.pins, "LAYERS=ISLAND",
      "Run these layers on an island: emb-11=a100, 12-head=h100, 7=0");
  app.add_option("--runtime", constraints.runtime,
                 "Plan only what this framework can run, a name of tangram "
                 "export --to; auto: the one with the fastest plan; any: plan "
                 "also what none can run [auto]")
      ->type_name("NAME|auto|any");
  AddOptional(app, "--recompute", constraints.recompute,
              "What every layer recomputes: nothing, the attention core, or "
              "the whole layer [what is fastest]")
      ->type_name("none|selective|full");
  AddOptional(app, "--pp", constraints.pp_degree,
              "Divide the pipeline among this many groups of GPUs, exactly")
      ->check(PositiveInteger())
      ->type_name("N");
  AddOptional(app, "--ep", constraints.ep_degree,
              "Set the expert-parallel degree of every stage that has experts")
      ->check(PositiveInteger())
      ->type_name("N");
  AddOptional(app, "--zero", constraints.zero_stage,
              "What replicas of a stage shard: nothing (0), optimizer state "
              "(1), gradients too (2), weights too (3) [what is fastest]")
      ->check(WholeNumber(0, 3, "0, 1, 2 or 3"))
      ->type_name("0|1|2|3");
  AddOptional(app, "--zero-degree", constraints.zero_degree,
              "Shard so over at most this many data-parallel ranks of a stage, "
              "and replicate the shards beyond [all]")
      ->check(WholeNumber(2, kMaxGpus, "an integer of at least 2"))
      ->type_name("N");
  AddOptional(app, "--schedule", constraints.schedule,
              "The order of passes in the pipeline [what is fastest]")
      ->type_name("1f1b|interleaved|gpipe|zb-h1");
  AddOptional(app, "--vpp", constraints.virtual_stages,
              "Chunks of the model on each group of GPUs: 1, or more with the "
              "interleaved schedule [what is fastest]")
      ->check(PositiveInteger())
      ->type_name("N");
}

}  // namespace

void AddPlanning(CLI::App& app, PlanOptions& plan) {
  AddCluster(app, plan.cluster, /*required=*/true);
  AddProfiles(app, plan.cluster);
  AddMemoryMargin(app, plan.cluster.memory_margin);
  AddModel(app, plan.model, /*required=*/true);
  AddTraining(app, plan.training, /*required=*/true);
  AddConstraints(app, plan.constraints);
  AddSearch(app, plan);
  AddTolerances(app, plan.search.tolerances);
  AddCoordinator(app, plan.coordinator, /*required=*/false,
                 "Plan on this coordinator's workers, not in this process");
}

void AddPlan(CLI::App& app, PlanOptions& plan) {
  AddPlanning(app, plan);
  app.remove_option(app.get_option("--global-batch"));
  app.add_option_function<std::vector<int>>(
         "--global-batch",
         [&plan](const std::vector<int>& sizes) {
           plan.global_batch_sizes = sizes;
           plan.training.global_batch_size = sizes.front();
         },
         "Train with this many sequences per iteration; plans for several "
         "sizes are compared")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(PositiveInteger())
      ->type_name("N,...");
  app.add_option("--job", plan.job_id,
                 "Plan as this job, which outlives program and coordinator")
      ->needs("--coordinator")
      ->type_name("ID");
  app.add_option("--priority", plan.priority,
                 "Run before the tenant's jobs of lower priority [0]")
      ->needs("--job");
  app.add_option("--label", plan.job.labels,
                 "Give the job a label, NAME=VALUE; may be repeated")
      ->needs("--job")
      ->type_name("NAME=VALUE");
  app.add_option("--deadline", plan.job.deadline_s,
                 "Let the job fail if it has not ended after this many seconds")
      ->needs("--job")
      ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"))
      ->type_name("SECONDS");
  app.add_option("--keep-days", plan.job.keep_days,
                 "Keep the job for this many days after its end")
      ->needs("--job")
      ->check(NumberAbove(0, /*inclusive=*/false, "a positive number"))
      ->type_name("DAYS");
  app.add_option("--webhook", plan.job.webhook,
                 "Let the coordinator tell this address that the job has ended")
      ->needs("--job")
      ->type_name("URL");
  app.add_flag("--skip-cache", plan.skip_cache,
               "Plan anew, though the coordinator may have the plan of an "
               "equal request")
      ->needs("--coordinator");
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
  app.add_flag("--quiet", plan.quiet, "Print no plan and no progress");
  AddProgress(app, plan.progress);
  AddAnswer(app, plan.answer);
}

}  // namespace tangram
