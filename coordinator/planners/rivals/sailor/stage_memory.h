#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STAGE_MEMORY_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STAGE_MEMORY_H_

#include <utility>
#include <vector>

#include "coordinator/planners/rivals/sailor/sailor_input.h"

namespace tangram::sailor {

// The first and the number of layers of each stage.
using Split = std::vector<std::pair<int, int>>;

// Splits layers evenly: all stages have floor(layers / stages), and the last
// ones one more.
Split SplitEvenly(int layers, int stages);

// Bytes of a stage on each GPU: weights, gradients and optimizer state of all
// layers, and the activations of as many microbatches as there are stages from
// it on (1F1B).
double StageBytes(const Profile& profile, const Split& split, int stage);

// Bytes that each GPU lacks for the even split that comes closest to fitting,
// among those of at most as many stages as GPUs. Each stage may be on any type.
// 0: memory suffices for some split.
double MemoryShort(const Input& input);

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STAGE_MEMORY_H_
