#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEED_PAIRS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEED_PAIRS_H_

#include <vector>

#include "coordinator/planners/tangram/pair_store.h"
#include "coordinator/planners/tangram/search_space.h"

namespace tangram {

// Returns the few pairs that are asked first. They make whole pipelines, whose
// times let imbalance pruning judge all other pairs. Every microbatch size has
//
//   * each usable island alone, with the whole model;
//   * the islands by falling memory per GPU, with the model cut in proportion
//     to their capacity: all islands, then all but the weakest one, two, ....
//
// The order is by memory because the front of a pipeline holds most
// activations. The pairs are sorted, without repeats.
std::vector<PairId> SeedPairs(const SearchSpace& space);

// Returns pairs like those of SeedPairs, with the model cut in proportion to
// what the islands do by the answers in `store`. They make better pipelines.
std::vector<PairId> MeasuredSeedPairs(const SearchSpace& space,
                                      const PairStore& store);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEED_PAIRS_H_
