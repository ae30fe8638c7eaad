#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_POLISH_PLAN_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_POLISH_PLAN_H_

#include "absl/status/statusor.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

struct PolishedPlan {
  PipelinePlan plan;
  Evaluation evaluation;  // It has no violations.
};

// Makes a plan faster by small changes, each of them simulated: borders between
// stages move, and stages recompute more or less. GPUs, degrees and the number
// of stages stay. A composition is the best of whole slice plans by the closed
// form. It knows neither borders inside other slices nor overlapped transfers.
//
// A hill climb: the stages are taken from the slowest to the fastest, and the
// first change that helps is kept, until none does or the effort is spent.
// `start` must fit and be legal for `rules`; so is the result, which is never
// slower. Plans with mixed or virtual stages are returned as they are.
// Deterministic. The only error is kCancelled, once the observer asks to stop.
absl::StatusOr<PolishedPlan> PolishPlan(const PlanRequest& request,
                                        const PipelineRules& rules,
                                        PolishedPlan start,
                                        PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_POLISH_PLAN_H_
