#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_POLISH_RESULT_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_POLISH_RESULT_H_

#include "absl/status/status.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/polish/polish_plan.h"

namespace tangram {

// Plans that take longer than the best by more than this fraction hardly ever
// become the best by polishing.
inline constexpr double kWorthPolishing = 0.12;

// Polishes the plan of a result (PolishPlan), if it has one. `rules` are those
// of the search that found it. The only error is kCancelled.
absl::Status PolishResult(const PlanRequest& request,
                          const PipelineRules& rules, Reach reach,
                          PlanObserver& observer, PlanResult& result,
                          TaskRunner* tasks = nullptr);

// Likewise for a plan in chunks. It is polished as a plan of 1F1B first, as
// chunks bind the layers of a device.
absl::Status PolishChunks(const PlanRequest& request,
                          const PipelineRules& rules, PlanObserver& observer,
                          PlanResult& result, TaskRunner* tasks = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_POLISH_RESULT_H_
