#ifndef TANGRAM_COMMON_WIRE_ANSWERED_REQUEST_H_
#define TANGRAM_COMMON_WIRE_ANSWERED_REQUEST_H_

#include "common/planner/cluster_planner.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Returns the plan file of a planner's answer: the request, the result and, if
// there is a plan, an explanation of its time. Takes the training options of
// the result if the planner changed them. Leaves the provenance empty.
PlanFile AnsweredRequest(PlanRequest request, PlanResult result);

// Sets the band of the file's prediction. It depends on what the plan file
// says alone.
void SetBand(PlanFile& file);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_ANSWERED_REQUEST_H_
