#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIXED_SOURCE_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIXED_SOURCE_H_

#include <memory>
#include <vector>

#include "common/base/ordered_tasks.h"
#include "common/parallelizer/slice_plan_source.h"

namespace tangram {

// Returns a source that asks each member every question, and answers with all
// of their slice plans in the order of the members. A pair is infeasible if it
// is so for all members. Profiles hold the lowest bounds. An answer covers as
// many trailing stages as every member's answer does (SettleCoverage):
//
//   covers(mix) = min over members of covers(member).
//
// All members must cut models into the same atoms, and must outlive the source.
// With `tasks`, they may be asked at the same time.
std::unique_ptr<SlicePlanSource> CreateMixedSource(
    std::vector<SlicePlanSource*> members, TaskRunner* tasks = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIXED_SOURCE_H_
