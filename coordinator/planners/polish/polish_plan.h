#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_POLISH_PLAN_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_POLISH_PLAN_H_

#include <optional>

#include "absl/status/statusor.h"
#include "common/base/ordered_tasks.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

struct PolishedPlan {
  PipelinePlan plan;
  Evaluation evaluation;  // It has no violations.
  // The time of the best plan of 1F1B that was found, if the plan has another
  // schedule.
  std::optional<double> one_f_one_b_s = std::nullopt;
};

// How far from the plan to look: small changes alone, or large ones too, or
// other schedules than 1F1B beside these, or beside small changes alone.
enum class Reach { kNear, kFar, kSchedules, kNearAndSchedules };

// Returns whether a problem of so many GPUs and layers is so small that its
// plans have few changes. More of them are then polished, each with less
// effort.
bool IsSmallProblem(int num_gpus, int num_layers);

// Makes a plan faster. A composition is the best of whole slice plans by the
// closed form. It knows neither borders inside other slices nor overlapped
// transfers, and a slice plan is the best of its slice alone.
//
// Near, small changes lead uphill (PlanClimber). Far, so do they after each of
// several leaps (LeapsFrom), from the best plans so far and from some that are
// a little slower, until no leap helps or the effort is spent. Then the best of
// these plans are tried under other schedules (OtherSchedules).
//
// `start` must fit and be legal for `rules`; so is the result, which is never
// slower. Plans with mixed stages are returned as they are, and so are those
// with virtual stages unless the request demands them. A demanded schedule
// stays.
// Deterministic, also with `tasks`, which may climb from several plans at a
// time. The only error is kCancelled, once the observer asks to stop.
absl::StatusOr<PolishedPlan> PolishPlan(const PlanRequest& request,
                                        const PipelineRules& rules, Reach reach,
                                        PolishedPlan start,
                                        PlanObserver& observer,
                                        TaskRunner* tasks = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_POLISH_PLAN_H_
