#ifndef TANGRAM_COMMON_PARALLELIZER_TRAILING_STAGES_H_
#define TANGRAM_COMMON_PARALLELIZER_TRAILING_STAGES_H_

#include "common/cost/stage_cost.h"

namespace tangram {

// Returns the largest number T of stages that may follow a slice without one
// stage of the slice running out of memory. `stages_behind` stages of the slice
// follow that stage. It holds min(stages_behind + 1 + T, B) of the B
// microbatches. Negative: the stage does not fit even with T = 0.
// kUnlimitedTrailingStages if all B fit.
int TrailingStagesBorne(const StageMemory& memory, double capacity_bytes,
                        int stages_behind, int num_microbatches);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_TRAILING_STAGES_H_
