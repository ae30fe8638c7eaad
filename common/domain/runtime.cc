#include "common/domain/runtime.h"

#include "common/domain/closed_segments.h"
#include "common/domain/recompute_masks.h"

namespace tangram {
namespace {

// Returns whether every framework offers the mask by a flag: nothing, whole
// layers, or the attention core alone.
bool IsCommonMask(int, const LayerSpec& layer, OpMask mask) {
  return mask == kRecomputeNone || mask == WholeLayerMask(layer) ||
         mask == AttentionCoreMask(layer);
}

bool IsClosed(int, const LayerSpec& layer, OpMask mask) {
  return CloseSegments(layer, mask) == mask;
}

// Returns whether only the residual stream crosses the cut.
bool IsResidualCut(OperatorCut cut, absl::Span<const LayerRun> runs) {
  if (cut.op == 0) return true;
  int end = 0;
  for (const LayerRun& run : runs) {
    end += run.count;
    if (cut.layer < end) return IsResidualCut(run.layer, cut.op);
  }
  return false;
}

absl::string_view WhyNotCut(Runtime::Cuts cuts, const StagePlan& stage,
                            absl::Span<const LayerRun> runs) {
  switch (cuts) {
    case Runtime::Cuts::kLayers:
      if (stage.begin.op == 0 && stage.end.op == 0) return "";
      return "a stage that begins or ends inside a layer";
    case Runtime::Cuts::kResiduals:
      if (IsResidualCut(stage.begin, runs) && IsResidualCut(stage.end, runs)) {
        return "";
      }
      return "a stage that begins or ends inside attention or an MLP";
    case Runtime::Cuts::kOperators:
      return "";
  }
  return "";
}

absl::string_view WhyNotRecomputed(Runtime::Recompute recompute,
                                   const StagePlan& stage,
                                   absl::Span<const LayerRun> runs) {
  switch (recompute) {
    case Runtime::Recompute::kLayers:
      if (AllLayers(stage, runs, IsCommonMask)) return "";
      return "recomputation of single operators";
    case Runtime::Recompute::kClosed:
      if (AllLayers(stage, runs, IsClosed)) return "";
      return "recomputation of a segment that more than its output leaves";
    case Runtime::Recompute::kOperators:
      return "";
  }
  return "";
}

}  // namespace

bool Covers(const Runtime& a, const Runtime& b) {
  return a.cuts >= b.cuts && a.recompute >= b.recompute &&
         a.sequence_parallel >= b.sequence_parallel &&
         a.context_parallel >= b.context_parallel &&
         a.expert_parallel >= b.expert_parallel &&
         a.sharded_experts >= b.sharded_experts &&
         a.max_zero_stage >= b.max_zero_stage &&
         a.zero_degrees >= b.zero_degrees && a.offload >= b.offload;
}

absl::string_view WhyNotRunnable(const Runtime& runtime, const StagePlan& stage,
                                 absl::Span<const LayerRun> runs) {
  const StageParallelism& parallelism = stage.parallelism;
  absl::string_view why = WhyNotCut(runtime.cuts, stage, runs);
  if (why.empty()) why = WhyNotRecomputed(runtime.recompute, stage, runs);
  if (!why.empty()) return why;
  if (!runtime.sequence_parallel && parallelism.sequence_parallel) {
    return "sequence parallelism";
  }
  if (!runtime.context_parallel && parallelism.cp_degree > 1) {
    return "context parallelism";
  }
  if (!runtime.expert_parallel && parallelism.ep_degree > 1) {
    return "expert parallelism";
  }
  if (!runtime.sharded_experts && parallelism.fsep) {
    return "fully sharded experts";
  }
  if (parallelism.zero_stage > runtime.max_zero_stage) {
    return "sharding of so much model state (its ZeRO stage)";
  }
  if (!runtime.zero_degrees && parallelism.num_shard_groups() > 1) {
    return "sharding over a part of the data-parallel ranks";
  }
  // MindSpeed alone has it, on Ascend NPUs.
  if (parallelism.tp_y_degree > 1) {
    return "tensor parallelism in two dimensions";
  }
  if (!runtime.offload && !stage.offload.none()) {
    return "offloading to host memory";
  }
  return "";
}

absl::string_view WhyNotScheduled(const Runtime& runtime,
                                  const PipelinePlan& plan) {
  if (!plan.warm_up_passes.empty()) return "a number of warm-up passes";
  switch (plan.schedule) {
    case PipelineSchedule::kInterleaved:
      return runtime.interleaved ? "" : "the schedule interleaved";
    case PipelineSchedule::kZeroBubbleH1:
      return "the schedule zb-h1";
    case PipelineSchedule::kGpipe:
      return runtime.gpipe ? "" : "the schedule gpipe";
    case PipelineSchedule::kOneFOneB:
      return "";
  }
  return "";
}

}  // namespace tangram
