#include "cli/diff/stage_diff.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/domain/stage_part.h"
#include "common/sim/describe.h"
#include "common/sim/stage_labels.h"

namespace tangram {
namespace {

// Returns the part of `stage` in [begin, end). Its recompute runs are split
// into one mask for each layer, which keeps only operators inside the part.
StagePlan Within(const ModelSpec& model, const StagePlan& stage,
                 OperatorCut begin, OperatorCut end) {
  StagePlan part = stage;
  part.begin = begin;
  part.end = end;
  part.recompute.clear();
  int layer = stage.begin.layer;
  for (const RecomputeRun& run : stage.recompute) {
    for (int i = 0; i < run.num_layers; ++i, ++layer) {
      if (layer < begin.layer ||
          layer >= begin.layer + LayersTouched(begin, end)) {
        continue;
      }
      const auto operators = OperatorsOf(model.layers[layer]).size();
      const int first = layer == begin.layer ? begin.op : 0;
      const int last =
          layer == end.layer ? end.op : static_cast<int>(operators);
      const OpMask present = (OpMask{1} << last) - (OpMask{1} << first);
      part.recompute.push_back(
          {.num_layers = 1, .mask = run.mask & (present | kDropOutputs)});
    }
  }
  return part;
}

// Returns the GPUs as "node:index". Nodes are named, because another cluster
// may list them in another order.
std::vector<std::string> GpuNames(const PlanFile& file,
                                  const PlacedStage& stage) {
  std::vector<std::string> names;
  for (const GpuId& gpu : stage.gpus) {
    names.push_back(
        absl::StrCat(file.cluster->nodes[gpu.node].name, ":", gpu.index));
  }
  return names;
}

void AddPlacement(const PlanFile& a, const PlacedStage& in_a, const PlanFile& b,
                  const PlacedStage& in_b, Differences& differences) {
  differences.Name("gpus", DescribeGpus(a.cluster, in_a.gpus),
                   DescribeGpus(b.cluster, in_b.gpus));
  differences.Label(GpuNames(a, in_a) != GpuNames(b, in_b), "where",
                    GpusLabel(a.cluster, in_a.gpus),
                    GpusLabel(b.cluster, in_b.gpus));
}

void AddParallelism(const StageParallelism& a, const StageParallelism& b,
                    Differences& differences) {
  differences.Number("tp_degree", a.tp_degree, b.tp_degree);
  differences.Number("tp_y_degree", a.tp_y_degree, b.tp_y_degree);
  differences.Number("cp_degree", a.cp_degree, b.cp_degree);
  differences.Number("dp_degree", a.dp_degree, b.dp_degree);
  differences.Number("ep_degree", a.ep_degree, b.ep_degree);
  differences.Switch("fsep", a.fsep, b.fsep);
  differences.Number("zero_stage", a.zero_stage, b.zero_stage);
  differences.Number("zero_degree", a.zero_degree, b.zero_degree);
  differences.Switch("sequence_parallel", a.sequence_parallel,
                     b.sequence_parallel);
}

void AddFigures(const StageEvaluation& a, const StageEvaluation& b,
                Differences& differences) {
  differences.Figure("microbatch_s", a.forward_s + a.backward_s,
                     b.forward_s + b.backward_s);
  differences.Figure("peak_bytes", a.peak_bytes, b.peak_bytes);
}

// Returns "routed" or "lock-step", "none" of equal replicas.
std::string SharingOf(const PlacedStage& stage) {
  return stage.mixed.empty() ? "none" : StageSharingName(stage.mixed.sharing);
}

// Compares the groups of mixed stages, as far as both have them.
void AddGroups(const PlanFile& a, int stage_a, const PlanFile& b, int stage_b,
               Differences& differences) {
  const PlacedStage& in_a = a.result.plan->stages[stage_a];
  const PlacedStage& in_b = b.result.plan->stages[stage_b];
  const StageEvaluation& figures_a = a.result.evaluation.stages[stage_a];
  const StageEvaluation& figures_b = b.result.evaluation.stages[stage_b];
  differences.Name("sharing", SharingOf(in_a), SharingOf(in_b));
  differences.Number("groups", static_cast<int64_t>(in_a.mixed.groups.size()),
                     static_cast<int64_t>(in_b.mixed.groups.size()));
  const std::vector<StagePart> parts_a = PartsOf(in_a, 1, 1);
  const std::vector<StagePart> parts_b = PartsOf(in_b, 1, 1);
  const size_t both =
      std::min(figures_a.replicas.size(), figures_b.replicas.size());
  for (size_t g = 0; g < both; ++g) {
    Differences group;
    group.Number("share", in_a.mixed.groups[g].share,
                 in_b.mixed.groups[g].share);
    group.Name("gpus", DescribeGpus(a.cluster, parts_a[g].gpus),
               DescribeGpus(b.cluster, parts_b[g].gpus));
    AddParallelism(parts_a[g].parallelism, parts_b[g].parallelism, group);
    AddFigures(figures_a.replicas[g], figures_b.replicas[g], group);
    differences.AddIn(absl::StrCat("groups[", g, "]"), std::move(group).Take());
  }
}

std::string OrNone(std::string label) {
  if (label.empty()) label = "none";
  return label;
}

void AddMemorySaving(const ModelSpec& model, const StagePlan& a,
                     const StagePlan& b, Differences& differences) {
  differences.Label(a.recompute != b.recompute, "recompute",
                    OrNone(RecomputeLabel(model, a)),
                    OrNone(RecomputeLabel(model, b)));
  differences.Label(a.offload != b.offload, "offload",
                    OrNone(DescribeOffload(a.offload)),
                    OrNone(DescribeOffload(b.offload)));
}

std::vector<Difference> DiffPart(const PlanFile& a, int stage_a,
                                 const PlanFile& b, int stage_b,
                                 OperatorCut begin, OperatorCut end) {
  const PlacedStage& in_a = a.result.plan->stages[stage_a];
  const PlacedStage& in_b = b.result.plan->stages[stage_b];
  Differences differences;
  AddPlacement(a, in_a, b, in_b, differences);
  AddParallelism(in_a.plan.parallelism, in_b.plan.parallelism, differences);
  AddGroups(a, stage_a, b, stage_b, differences);
  differences.Number(
      "microbatch_size",
      a.result.plan->pipeline_microbatch_size / in_a.plan.parallelism.dp_degree,
      b.result.plan->pipeline_microbatch_size /
          in_b.plan.parallelism.dp_degree);
  AddMemorySaving(a.model, Within(a.model, in_a.plan, begin, end),
                  Within(a.model, in_b.plan, begin, end), differences);
  AddFigures(a.result.evaluation.stages[stage_a],
             b.result.evaluation.stages[stage_b], differences);
  return std::move(differences).Take();
}

}  // namespace

// Merges two sorted lists of boundaries: each step compares the stages that
// overlap and advances past the one that ends first.
std::vector<StageDifference> DiffStages(const PlanFile& a, const PlanFile& b) {
  const PipelinePlan& in_a = *a.result.plan;
  const PipelinePlan& in_b = *b.result.plan;
  std::vector<StageDifference> parts;
  for (int i = 0, j = 0; i < in_a.num_stages() && j < in_b.num_stages();) {
    const StagePlan& stage_a = in_a.stages[i].plan;
    const StagePlan& stage_b = in_b.stages[j].plan;
    const OperatorCut begin = std::max(stage_a.begin, stage_b.begin);
    const OperatorCut end = std::min(stage_a.end, stage_b.end);
    parts.push_back({.begin = begin,
                     .end = end,
                     .stage_a = i,
                     .stage_b = j,
                     .differences = DiffPart(a, i, b, j, begin, end)});
    if (stage_a.end == end) ++i;
    if (stage_b.end == end) ++j;
  }
  return parts;
}

}  // namespace tangram
