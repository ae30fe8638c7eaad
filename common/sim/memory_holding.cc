#include "common/sim/memory_holding.h"

#include <algorithm>

#include "common/domain/stage_plan.h"

namespace tangram {

HeldMicrobatches HeldOf(const PipelineShape& shape, int s, int all) {
  const int device = s % shape.num_devices;
  return {.all = all,
          .before_weight_gradients =
              shape.splits_backward() ? std::min(device + 1, all) : 0};
}

StageMemory MemoryHolding(StageEstimator& estimator, const PlacedStage& stage,
                          int microbatch_size, const HeldMicrobatches& held,
                          StageMemory kept) {
  StageMemory memory = kept;
  memory.activation_bytes = held.all * kept.activation_bytes;
  memory.host_activation_bytes = held.all * kept.host_activation_bytes;
  if (held.before_weight_gradients == 0) return memory;
  PlacedStage unrecomputed = stage;
  unrecomputed.plan.recompute = {
      {LayersTouched(stage.plan.begin, stage.plan.end), kRecomputeNone}};
  const StageMemory& all =
      estimator.CostOf(unrecomputed, microbatch_size).memory;
  const int waiting = held.before_weight_gradients;
  memory.activation_bytes +=
      waiting * (all.activation_bytes - kept.activation_bytes);
  memory.host_activation_bytes +=
      waiting * (all.host_activation_bytes - kept.host_activation_bytes);
  memory.transient_bytes = all.transient_bytes;
  return memory;
}

}  // namespace tangram
