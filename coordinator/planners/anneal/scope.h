#ifndef TANGRAM_COORDINATOR_PLANNERS_ANNEAL_SCOPE_H_
#define TANGRAM_COORDINATOR_PLANNERS_ANNEAL_SCOPE_H_

#include <vector>

#include "coordinator/planners/anneal/moves.h"

// Draws that several moves share.
namespace tangram::anneal {

// Draws the stages to change: one, all of an island, or all. The chunks of a
// device are changed together.
std::vector<int> DrawScope(Draw& draw, const PipelinePlan& plan);

// Applies `change` to the stages of a drawn scope. Returns whether it changed
// one.
template <typename Change>
bool ChangeStages(const MoveContext& context, PipelinePlan& plan,
                  Change change) {
  const PipelinePlan before = plan;
  for (const int stage : DrawScope(context.draw, plan)) {
    change(plan.stages[stage]);
  }
  return plan != before;
}

// Draws degrees whose product is `num_gpus`.
StageParallelism DrawDegrees(const MoveContext& context, int num_gpus);

// Gives the stage the tp, cp and ep degrees of `drawn` as far as they divide
// its GPUs, which are then equal replicas. It keeps its ZeRO stage.
void SetDegrees(const StageParallelism& drawn, PlacedStage& stage);

// Draws a mask that the plan or every framework has.
OpMask DrawMask(const MoveContext& context, const PipelinePlan& plan);

}  // namespace tangram::anneal

#endif  // TANGRAM_COORDINATOR_PLANNERS_ANNEAL_SCOPE_H_
