#include "worker/adapters/aceso/aceso_plan.h"

#include <algorithm>

#include "common/cost/stage_cost.h"
#include "common/parallelizer/trailing_stages.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// Evaluates one stage with the cost model. Sets `trailing_stages` to the number
// of stages behind the slice that its memory allows.
SliceStage StageOf(CostTables& tables, const ModelSlice& slice,
                   const ConfiguredStage& stage, int stages_behind,
                   int& trailing_stages) {
  const SliceLayout& layout = tables.layout();
  const DegreeTable& table = tables.At(stage.shape.degrees);
  SliceStage result;
  result.plan = {.begin = layout.CutAt(stage.shape.begin),
                 .end = layout.CutAt(stage.shape.end),
                 .parallelism = table.parallelism,
                 .recompute = RecomputeRunsOf(tables, stage.shape,
                                              stage.figures.recompute)};
  const StageCost cost =
      EstimateStage(slice.runs, result.plan, tables.EnvironmentOf(table));
  result.time_s = cost.forward_s + cost.backward_s + stage.send_s;
  result.backward_s = cost.backward_s;
  result.sync_s = cost.sync_s + cost.optimizer_s;
  trailing_stages =
      TrailingStagesBorne(cost.memory, tables.island().device.memory_bytes,
                          stages_behind, tables.num_microbatches());
  return result;
}

}  // namespace

SlicePlan PlanOf(CostTables& tables, const ModelSlice& slice,
                 const Configuration& configuration) {
  SlicePlan plan = {.max_trailing_stages = kUnlimitedTrailingStages,
                    .made_by = "aceso"};
  const int num_stages = configuration.num_stages();
  for (int i = 0; i < num_stages; ++i) {
    int trailing_stages = 0;
    plan.stages.push_back(StageOf(tables, slice, configuration.stages[i],
                                  num_stages - 1 - i, trailing_stages));
    plan.max_trailing_stages =
        std::min(plan.max_trailing_stages, trailing_stages);
  }
  return plan;
}

}  // namespace tangram::aceso
