#ifndef TANGRAM_COMMON_WIRE_ANSWERED_REQUEST_H_
#define TANGRAM_COMMON_WIRE_ANSWERED_REQUEST_H_

#include "common/planner/cluster_planner.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Returns the plan file of a planner's answer: what was asked, the result and,
// if there is a plan, why it takes as long as it does. The training is that of
// the result, if the planner changed it. The provenance is left empty.
PlanFile AnsweredRequest(const PlanRequest& request, PlanResult result);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_ANSWERED_REQUEST_H_
