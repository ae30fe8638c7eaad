#ifndef TANGRAM_COMMON_SIM_MEMORY_HOLDING_H_
#define TANGRAM_COMMON_SIM_MEMORY_HOLDING_H_

#include "common/cost/stage_cost.h"
#include "common/domain/pipeline_plan.h"
#include "common/sim/pass_sequence.h"
#include "common/sim/stage_estimator.h"

namespace tangram {

// The microbatches that a stage holds at the peak of its device.
struct HeldMicrobatches {
  int all = 0;
  // Those between their backward pass and that of their weight gradients.
  int before_weight_gradients = 0;

  bool operator==(const HeldMicrobatches&) const = default;
};

// Returns what stage `s` of such a pipeline holds of `all` microbatches. Device
// d runs weight gradients that have passes of their own d microbatches later,
// so that the last min(d + 1, all) of them wait.
HeldMicrobatches HeldOf(const PipelineShape& shape, int s, int all);

// Returns the memory of a stage whose activations are those of all `held`
// microbatches: its peak is that of one microbatch in flight. `kept` is the
// memory of the stage by its cost. If m of the h microbatches wait for their
// weight gradients, they hold all u bytes that the backward pass recomputed,
// and the others keep k bytes:
//   activations = k (h − m) + u m.
// Then nothing is recomputed into a buffer of its own.
StageMemory MemoryHolding(StageEstimator& estimator, const PlacedStage& stage,
                          int microbatch_size, const HeldMicrobatches& held,
                          StageMemory kept);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_MEMORY_HOLDING_H_
