#ifndef TANGRAM_COORDINATOR_PLANNERS_ANNEAL_SPREAD_H_
#define TANGRAM_COORDINATOR_PLANNERS_ANNEAL_SPREAD_H_

#include "common/domain/stage_plan.h"
#include "coordinator/planners/anneal/moves.h"

// Layers for stages whose GPUs have changed.
namespace tangram::anneal {

// Returns a mask of the stage that most of its layers have.
OpMask MainMask(const StagePlan& stage);

// Gives the stage [begin, end). Its transformer layers recompute `mask`, as far
// as they have its operators; a mask of all operators stays one.
void Cover(const ModelSpec& model, OperatorCut begin, OperatorCut end,
           OpMask mask, StagePlan& stage);

// Spreads what stages [first, last) run over them, about in proportion to the
// peaks of their GPUs. All of them recompute as before, or one drawn mask.
// Returns false if there are too few layers.
bool Spread(const MoveContext& context, int first, int last, OperatorCut begin,
            OperatorCut end, PipelinePlan& plan);

// Spreads the whole model over all stages.
bool SpreadAll(const MoveContext& context, PipelinePlan& plan);

}  // namespace tangram::anneal

#endif  // TANGRAM_COORDINATOR_PLANNERS_ANNEAL_SPREAD_H_
