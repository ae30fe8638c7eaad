#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEED_PAIRS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEED_PAIRS_H_

#include <vector>

#include "coordinator/planners/tangram/search_space.h"

namespace tangram {

// The few pairs asked first, to have whole pipelines whose times let imbalance
// pruning judge all others: for every microbatch size, each island alone, and
// the islands by falling memory per GPU (the front of a pipeline holds most
// activations) with the model cut in proportion to their capacity — all of
// them, and all but the weakest one, two, .... Sorted, without repeats.
std::vector<PairId> SeedPairs(const SearchSpace& space);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEED_PAIRS_H_
