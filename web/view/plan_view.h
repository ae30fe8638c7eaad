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

// Stages with what runs on them, where, and what it takes. file.result.plan
// must be there and valid on its cluster.
Json StagesView(const PlanFile& file);

// Iteration time and the like, with where the GPUs' time goes.
Json PredictionView(const PipelinePlan& plan, const Evaluation& evaluation);

Json TimelineView(absl::Span<const TimelineEvent> timeline,
                  double iteration_time_s);

// Pairs and what became of them, and what planning took.
Json PlanningView(const PlanFile& file);

// Other ways that were tried, and what they would cost.
Json AlternativesView(const PlanResult& result);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_PLAN_VIEW_H_
