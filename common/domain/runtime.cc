#include "common/domain/runtime.h"

#include <algorithm>

namespace tangram {
namespace {

// Returns whether every framework offers the mask by a flag: nothing, whole
// layers, or the attention core alone.
bool IsCommonMask(OpMask mask, const LayerSpec& layer) {
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  const auto core = std::find(ops.begin(), ops.end(), OpKind::kAttentionCore);
  return mask == kRecomputeNone || mask == (OpMask{1} << ops.size()) - 1 ||
         (core != ops.end() && mask == OpMask{1} << (core - ops.begin()));
}

// Walks the runs of layers beside the runs of masks, so that a deep model takes
// O(layers) and not its square.
bool HasCommonMasksOnly(const StagePlan& stage,
                        absl::Span<const LayerRun> runs) {
  int layer = stage.begin.layer;
  size_t run = 0;
  int run_end = runs.front().count;
  for (const RecomputeRun& masks : stage.recompute) {
    for (int i = 0; i < masks.num_layers; ++i, ++layer) {
      while (layer >= run_end && run + 1 < runs.size()) {
        run_end += runs[++run].count;
      }
      if (!IsCommonMask(masks.mask, runs[run].layer)) return false;
    }
  }
  return true;
}

}  // namespace

bool Covers(const Runtime& a, const Runtime& b) {
  return a.operator_cuts >= b.operator_cuts &&
         a.operator_recompute >= b.operator_recompute &&
         a.sequence_parallel >= b.sequence_parallel &&
         a.context_parallel >= b.context_parallel &&
         a.expert_parallel >= b.expert_parallel &&
         a.sharded_experts >= b.sharded_experts &&
         a.max_zero_stage >= b.max_zero_stage && a.offload >= b.offload;
}

absl::string_view WhyNotRunnable(const Runtime& runtime, const StagePlan& stage,
                                 absl::Span<const LayerRun> runs) {
  const StageParallelism& parallelism = stage.parallelism;
  if (!runtime.operator_cuts && (stage.begin.op != 0 || stage.end.op != 0)) {
    return "a stage that begins or ends inside a layer";
  }
  if (!runtime.operator_recompute && !HasCommonMasksOnly(stage, runs)) {
    return "recomputation of single operators";
  }
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
  // MindSpeed alone has it, on Ascend NPUs.
  if (parallelism.tp_y_degree > 1) {
    return "tensor parallelism in two dimensions";
  }
  if (!runtime.offload && !stage.offload.none()) {
    return "offloading to host memory";
  }
  return "";
}

}  // namespace tangram
