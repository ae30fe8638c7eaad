#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_LEAPS_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_LEAPS_H_

#include <vector>

#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"

namespace tangram {

// Returns plans that differ from `plan` in much: the microbatch size, the order
// of islands, or the degrees of a stage, of those on an island or of all, or
// how many stages share their GPUs, by a factor of 2, or a stage or a node that
// is left out. Where the most replicas of a stage double or halve, the
// microbatch may do so too. They meet the constraints of the request and the
// limits of the rules, but may be invalid, or not fit.
// In plans in chunks, all devices change alike, or have one chunk more or less,
// or become one without chunks.
// None from plans whose warm-up passes would have to follow.
std::vector<PipelinePlan> LeapsFrom(const PlanRequest& request,
                                    const PipelineRules& rules,
                                    const PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_LEAPS_H_
