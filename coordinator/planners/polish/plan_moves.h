#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_MOVES_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_MOVES_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/runtime.h"
#include "common/domain/stage_plan.h"
#include "common/planner/pipeline_rules.h"

// Small changes of a plan: of the borders between its stages, and of what a
// stage recomputes. None checks that the result is legal or fits.
namespace tangram {

// Returns the places where a stage may end, in order, without the end of the
// model: between all layers, and inside them if `cuts` allows it.
std::vector<OperatorCut> CutsOf(const ModelSpec& model, Runtime::Cuts cuts);

// Returns where stages may end by the rules.
Runtime::Cuts FinestCuts(const PipelineRules& rules);

// Cuts the model at `borders`, one for each two neighbours of the stages, in
// ascending order. A layer that a stage gains is recomputed like the equal
// layer beside it, or not at all.
void Recut(const ModelSpec& model, absl::Span<const OperatorCut> borders,
           PipelinePlan& plan);

// Returns the masks to try on layers of `plan`: whole layers, the attention
// core, and those that the plan has. Most recomputation first.
std::vector<OpMask> MasksOf(const ModelSpec& model, const PipelinePlan& plan);

// Gives the first layer of the stage with the mask `from` the mask `to`, or the
// last one if `to` has fewer operators, so that layers with more recomputation
// come first. Returns false if there is none.
bool ChangeMask(const ModelSpec& model, int stage, OpMask from, OpMask to,
                PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_MOVES_H_
