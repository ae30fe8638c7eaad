#include "web/view/plan_view.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/domain/stage_part.h"
#include "common/sim/describe.h"
#include "common/sim/stage_labels.h"
#include "common/sim/time_shares.h"
#include "formats/config/training_names.h"
#include "web/view/cluster_view.h"
#include "web/view/timeline_runs.h"

namespace tangram {
namespace {

// Limit for a timeline; about 200 kB of JSON.
constexpr size_t kMaxTimelineNumbers = 25'000;

const char* LayerName(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::kEmbedding:
      return "embedding";
    case LayerKind::kHead:
      return "head";
    case LayerKind::kTransformer:
      break;
  }
  if (layer.is_mamba()) {
    return layer.no_mlp ? "mamba" : layer.is_moe() ? "mamba_moe" : "mamba_mlp";
  }
  if (layer.no_mlp) return "attention";
  if (layer.mixer == MixerKind::kNone)
    return layer.is_moe() ? "experts" : "mlp";
  return layer.is_moe() ? "moe" : "dense";
}

const char* KindName(TimelineEvent::Kind kind) {
  switch (kind) {
    case TimelineEvent::Kind::kForward:
      return "forward";
    case TimelineEvent::Kind::kBackward:
      return "backward";
    case TimelineEvent::Kind::kWeightGradient:
      return "weight_gradient";
    case TimelineEvent::Kind::kSendForward:
      return "send_forward";
    case TimelineEvent::Kind::kSendBackward:
      return "send_backward";
    case TimelineEvent::Kind::kGradientSync:
      return "gradient_sync";
    case TimelineEvent::Kind::kOptimizer:
      return "optimizer";
    case TimelineEvent::Kind::kReplicaSync:
      return "replica_sync";
  }
  return "";
}

Json CutView(OperatorCut cut) { return {cut.layer, cut.op}; }

Json ParallelismView(const StageParallelism& parallelism) {
  return {{"tp", DescribeTp(parallelism)},
          {"cp", parallelism.cp_degree},
          {"dp", parallelism.dp_degree},
          {"ep", parallelism.ep_degree},
          {"zero", parallelism.zero_stage},
          {"zero_degree", parallelism.zero_degree},
          {"sequence_parallel", parallelism.sequence_parallel}};
}

Json TimesView(const StageEvaluation& stage) {
  return {
      {"forward_s", stage.forward_s},     {"backward_s", stage.backward_s},
      {"recompute_s", stage.recompute_s}, {"collective_s", stage.collective_s},
      {"copy_s", stage.copy_s},           {"send_s", stage.send_s},
      {"sync_s", stage.sync_s},           {"optimizer_s", stage.optimizer_s},
      {"busy_s", stage.busy_s},           {"idle_s", stage.idle_s}};
}

Json MemoryView(const StageEvaluation& stage) {
  const double state_bytes =
      stage.weight_bytes + stage.gradient_bytes + stage.optimizer_bytes;
  return {{"weight_bytes", stage.weight_bytes},
          {"gradient_bytes", stage.gradient_bytes},
          {"optimizer_bytes", stage.optimizer_bytes},
          {"activation_bytes", stage.activation_bytes},
          {"transient_bytes", stage.transient_bytes},
          {"reserve_bytes", stage.static_bytes - state_bytes},
          {"peak_bytes", stage.peak_bytes},
          {"capacity_bytes", stage.capacity_bytes},
          {"in_flight", stage.in_flight},
          {"host_bytes", stage.host_bytes},
          {"host_capacity_bytes", stage.host_capacity_bytes}};
}

// Returns the groups of mixed stage `s`.
Json MixedView(const PlanFile& file, int s) {
  const PlacedStage& stage = file.result.plan->stages[s];
  const std::vector<StageEvaluation>& figures =
      file.result.evaluation.stages[s].replicas;
  const std::vector<StagePart> parts = PartsOf(stage, 1, 1);
  Json groups = Json::array();
  for (size_t g = 0; g < parts.size() && g < figures.size(); ++g) {
    groups.push_back({{"share", stage.mixed.groups[g].share},
                      {"gpus_label", DescribeGpus(file.cluster, parts[g].gpus)},
                      {"where", GpusLabel(file.cluster, parts[g].gpus)},
                      {"parallelism", ParallelismView(parts[g].parallelism)},
                      {"times", TimesView(figures[g])},
                      {"memory", MemoryView(figures[g])}});
  }
  return {{"sharing", StageSharingName(stage.mixed.sharing)},
          {"groups", std::move(groups)}};
}

Json StageView(const PlanFile& file, int s) {
  const PipelinePlan& plan = *file.result.plan;
  const PlacedStage& stage = plan.stages[s];
  // A file from elsewhere may contain any index.
  const bool is_known =
      stage.island >= 0 &&
      stage.island < static_cast<int>(file.result.islands.size());
  Json view = {
      {"begin", CutView(stage.plan.begin)},
      {"end", CutView(stage.plan.end)},
      {"layers", LayersLabel(file.model, stage.plan.begin, stage.plan.end)},
      {"island", is_known ? stage.island : -1},
      {"gpus", GpusView(stage.gpus)},
      {"gpus_label", DescribeGpus(file.cluster, stage.gpus)},
      {"where", GpusLabel(file.cluster, stage.gpus)},
      {"parallelism", ParallelismView(stage.plan.parallelism)},
      {"recompute", RecomputeLabel(file.model, stage.plan)},
      {"offload", DescribeOffload(stage.plan.offload)},
      {"made_by", stage.made_by},
      {"times", TimesView(file.result.evaluation.stages[s])},
      {"memory", MemoryView(file.result.evaluation.stages[s])}};
  if (!stage.mixed.empty()) view["mixed"] = MixedView(file, s);
  return view;
}

}  // namespace

Json ModelView(const ModelSpec& model) {
  Json runs = Json::array();
  for (size_t begin = 0, end = 1; begin < model.layers.size(); begin = end++) {
    const LayerSpec& layer = model.layers[begin];
    while (end < model.layers.size() && model.layers[end] == layer) ++end;
    runs.push_back({{"kind", LayerName(layer)},
                    {"count", end - begin},
                    {"parameters", ParameterCount(layer)},
                    {"operators", OperatorsOf(layer).size()}});
  }
  return {{"name", model.name},
          {"parameters", ParameterCount(model)},
          {"num_layers", model.num_layers()},
          {"layer_runs", std::move(runs)}};
}

Json TrainingView(const TrainingOptions& training) {
  return {{"global_batch_size", training.global_batch_size},
          {"sequence_length", training.sequence_length},
          {"precision", std::string(PrecisionName(training.precision))},
          {"optimizer", std::string(OptimizerName(training.optimizer))},
          {"switches", DescribeSwitches(training)}};
}

Json StagesView(const PlanFile& file) {
  Json stages = Json::array();
  for (int s = 0; s < file.result.plan->num_stages(); ++s) {
    stages.push_back(StageView(file, s));
  }
  return stages;
}

Json PredictionView(const PipelinePlan& plan, const Evaluation& evaluation) {
  Json shares = Json::array();
  for (const TimeShare& share : TimeShares(plan, evaluation)) {
    shares.push_back({{"name", share.name}, {"fraction", share.fraction}});
  }
  Json violations = Json::array();
  for (const Violation& violation : evaluation.violations) {
    violations.push_back({{"stage", violation.stage},
                          {"reason", violation.reason},
                          {"bytes_short", violation.bytes_short}});
  }
  return {{"iteration_time_s", evaluation.iteration_time_s},
          {"samples_per_s", evaluation.samples_per_s},
          {"tokens_per_s", evaluation.tokens_per_s},
          {"model_flops_utilization", evaluation.model_flops_utilization},
          {"bubble_fraction", evaluation.bubble_fraction},
          {"measured_fraction", evaluation.measured_fraction},
          {"recomputation_fraction", RecomputationShare(plan, evaluation)},
          {"time_shares", std::move(shares)},
          {"violations", std::move(violations)}};
}

Json TimelineView(absl::Span<const TimelineEvent> timeline,
                  double iteration_time_s) {
  Json tracks = Json::array();
  for (const Track& track :
       TimelineTracks(timeline, iteration_time_s, kMaxTimelineNumbers)) {
    Json runs = Json::array();
    for (const EventRun& run : track.runs) {
      Json numbers = {run.first_microbatch, run.count, run.duration_ns,
                      run.period_ns};
      for (const int64_t start_ns : run.starts_ns) numbers.push_back(start_ns);
      runs.push_back(std::move(numbers));
    }
    Json view = {{"stage", track.stage},
                 {"kind", KindName(track.kind)},
                 {"runs", std::move(runs)}};
    if (track.replica > 0) view["group"] = track.replica;
    if (!track.microbatches.empty()) view["microbatches"] = track.microbatches;
    tracks.push_back(std::move(view));
  }
  return tracks;
}

Json PlanningView(const PlanFile& file) {
  const PlanningStats& stats = file.result.stats;
  Json phases = Json::array();
  for (const PhaseTime& time : file.provenance.phases) {
    phases.push_back({{"name", time.phase}, {"wall_s", time.wall_s}});
  }
  return {{"pairs", stats.pairs},
          {"pruned_redundant", stats.pruned_redundant},
          {"pruned_imbalanced", stats.pruned_imbalanced},
          {"pruned_incompatible", stats.pruned_incompatible},
          {"pruned_infeasible", stats.pruned_infeasible},
          {"queries", stats.queries},
          {"requeries", stats.requeries},
          {"cache_hits", file.provenance.cache_hits},
          {"infeasible_answers", stats.infeasible_answers},
          {"slice_plans", stats.slice_plans},
          {"compositions", stats.compositions},
          {"finalists", stats.finalists},
          {"truncated", stats.truncated},
          {"parallelizer", file.provenance.parallelizer},
          {"tool_version", file.provenance.tool_version},
          {"num_workers", file.provenance.num_workers},
          {"coordinator", file.provenance.coordinator},
          {"wall_s", file.provenance.wall_s},
          {"phases", std::move(phases)}};
}

Json AlternativesView(const PlanResult& result) {
  Json alternatives = Json::array();
  for (const PlanAlternative& alternative : result.alternatives) {
    Json entry = {{"parallelizers", alternative.parallelizers},
                  {"runtime", alternative.runtime},
                  {"reason", alternative.reason}};
    if (alternative.iteration_time_s) {
      entry["iteration_time_s"] = *alternative.iteration_time_s;
    }
    alternatives.push_back(std::move(entry));
  }
  Json runners_up = Json::array();
  for (const RunnerUp& runner_up : result.runners_up) {
    runners_up.push_back(
        {{"islands", runner_up.islands},
         {"num_stages", runner_up.num_stages},
         {"pipeline_microbatch_size", runner_up.pipeline_microbatch_size},
         {"iteration_time_s", runner_up.iteration_time_s}});
  }
  return {{"parallelizers", std::move(alternatives)},
          {"runners_up", std::move(runners_up)}};
}

}  // namespace tangram
