#ifndef TANGRAM_COMMON_PARALLELIZER_TRAILING_STAGES_H_
#define TANGRAM_COMMON_PARALLELIZER_TRAILING_STAGES_H_

#include "common/cost/stage_cost.h"

namespace tangram {

// Stages that may follow a slice, as far as one of its stages is concerned: the
// one with `stages_behind` stages of the slice after it. It then holds
// min(stages_behind + 1 + T, B) microbatches of B in all with T stages behind
// the slice. Negative: it does not fit even with none; kUnlimitedTrailingStages
// if all B fit.
int TrailingStagesBorne(const StageMemory& memory, double capacity_bytes,
                        int stages_behind, int num_microbatches);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_TRAILING_STAGES_H_
