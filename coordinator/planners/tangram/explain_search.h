#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_EXPLAIN_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_EXPLAIN_SEARCH_H_

#include "absl/status/statusor.h"
#include "common/domain/island.h"
#include "common/domain/slice_plan.h"
#include "common/planner/planner.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/search_space.h"

namespace tangram {

// Returns the reason why the answers in `store` make no pipeline: the bytes
// that the cluster lacks, or the answer that came closest to a plan. The reason
// "however it is sharded" is proved with the memory of the cluster's own GPUs.
Infeasible WhyNothingFits(const SearchSpace& space, const Cluster& cluster,
                          const PairStore& store);

// Returns the reason why the chosen proposal, made of `chosen`, does not use
// `island`. The time in the reason is the judge's for the fastest proposal with
// the island. Without such a proposal it is the closed form of the best
// composition with the island. Errors: kCancelled.
absl::StatusOr<UnusedIsland> ExplainUnused(const Island& island, uint32_t alike,
                                           const Finalist& chosen,
                                           const Judgement& judgement,
                                           double min_island_gain,
                                           PairSearch& search);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_EXPLAIN_SEARCH_H_
