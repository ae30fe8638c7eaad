#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_PLAN_LIMIT_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_PLAN_LIMIT_H_

#include "coordinator/planners/tangram/pair_store.h"
#include "coordinator/planners/tangram/search_space.h"

namespace tangram {

// Returns PairQuery::limit_s for a pair, if the closed form of a whole pipeline
// may be at most `pipeline_s`. It is positive, and rounded up to 4 bits, so
// that searches with nearly the same limits ask the same questions.
double SlicePlanLimit(const SearchSpace& space, const PairId& pair,
                      double pipeline_s);

// Likewise if the slices on other islands take at least `rest_s`. Rounded up to
// 6 bits, as one search asks such questions alone.
double SlicePlanLimitBeside(const SearchSpace& space, const PairId& pair,
                            double pipeline_s, double rest_s);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_PLAN_LIMIT_H_
