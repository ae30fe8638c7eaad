#ifndef TANGRAM_WEB_VIEW_PLAN_VIEW_H_
#define TANGRAM_WEB_VIEW_PLAN_VIEW_H_

#include "absl/types/span.h"
#include "common/sim/evaluate_plan.h"
#include "common/wire/plan_file.h"
#include "web/view/json.h"

namespace tangram {

// Runs of equal layers.
Json ModelView(const ModelSpec& model);

Json TrainingView(const TrainingOptions& training);

// Stages with their layers, GPUs, times and memory. file.result.plan must exist
// and be valid on its cluster.
Json StagesView(const PlanFile& file);

// Iteration time and related figures, and where the GPUs' time goes.
Json PredictionView(const PipelinePlan& plan, const Evaluation& evaluation);

Json TimelineView(absl::Span<const TimelineEvent> timeline,
                  double iteration_time_s);

// Numbers of pairs by outcome, and the cost of planning.
Json PlanningView(const PlanFile& file);

// Alternatives that were evaluated, with their costs.
Json AlternativesView(const PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_PLAN_VIEW_H_
