#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIXED_SOURCE_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIXED_SOURCE_H_

#include <memory>
#include <vector>

#include "common/parallelizer/slice_plan_source.h"

namespace tangram {

// Asks each member every question and answers with all of their slice plans,
// in the order of the members. A pair is infeasible if it is for all; bounds
// are the lowest; an answer covers as many trailing stages as every member's
// does (SettleCoverage). Atoms are the first member's, and must be the others'
// too. Members must outlive the source.
std::unique_ptr<SlicePlanSource> CreateMixedSource(
    std::vector<SlicePlanSource*> members);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIXED_SOURCE_H_
