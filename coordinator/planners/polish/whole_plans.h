#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_WHOLE_PLANS_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_WHOLE_PLANS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"

namespace tangram {

// Returns plans of a small problem, made of single stages on any GPUs: an
// island may hold stages at several places of the pipeline, hold stages of
// unlike degrees, and keep GPUs unused. So they do not depend on what
// parallelizers answer and on which of their plans is polished first.
//
// They are the best of their kind by an estimate of at most `limit_s` seconds.
// A kind is a microbatch size, a number of stages and a sequence of islands.
// They meet the constraints of the request and the
// limits of the rules, but may not fit, or be refused by the runtime. The best
// by estimate come first. Deterministic. The only errors are those of
// ResolveConstraints, and kCancelled once the observer asks to stop.
absl::StatusOr<std::vector<PipelinePlan>> WholePlans(
    const PlanRequest& request, const PipelineRules& rules,
    absl::Span<const Island> islands, double limit_s, PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_WHOLE_PLANS_H_
