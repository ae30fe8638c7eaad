#include "worker/adapters/aceso/aceso_plan.h"

#include <algorithm>
#include <cmath>

#include "common/cost/stage_cost.h"
#include "worker/adapters/aceso/aceso_estimate.h"
#include "worker/adapters/aceso/aceso_recompute.h"

namespace tangram::aceso {
namespace {

// Stages that may follow one that has `own` microbatches in flight when none
// does, out of `num_microbatches`.
int TrailingStagesBorne(const StageMemory& memory, double capacity, int own,
                        int num_microbatches) {
  if (memory.PeakBytes(num_microbatches) <= capacity) {
    return kUnlimitedTrailingStages;
  }
  const double for_activations = capacity - memory.PeakBytes(0);
  int held =
      static_cast<int>(std::floor(for_activations / memory.activation_bytes));
  if (memory.PeakBytes(held) > capacity) --held;  // Rounding.
  return held - own;
}

SliceStage StageOf(CostTables& tables, const ModelSlice& slice,
                   const ConfiguredStage& stage, int own_in_flight,
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
                          own_in_flight, tables.num_microbatches());
  return result;
}

struct Merits {
  double slowest_s = 0;
  double latency_s = 0;
  double last_stage_s = 0;  // A transfer to the next slice adds to it.
  double most_sync_s = 0;
  int num_stages = 0;
  int trailing_stages = 0;
};

Merits MeritsOf(const SlicePlan& plan) {
  double most_sync_s = 0;
  for (const SliceStage& stage : plan.stages) {
    most_sync_s = std::max(most_sync_s, stage.sync_s);
  }
  return {.slowest_s = plan.slowest_stage_s(),
          .latency_s = plan.latency_s(),
          .last_stage_s = plan.stages.back().time_s,
          .most_sync_s = most_sync_s,
          .num_stages = plan.num_stages(),
          .trailing_stages = plan.max_trailing_stages};
}

bool AtLeastAsGood(const Merits& a, const Merits& b) {
  return a.slowest_s <= b.slowest_s && a.latency_s <= b.latency_s &&
         a.last_stage_s <= b.last_stage_s && a.most_sync_s <= b.most_sync_s &&
         a.num_stages <= b.num_stages && a.trailing_stages >= b.trailing_stages;
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
                                  num_stages - i, trailing_stages));
    plan.max_trailing_stages =
        std::min(plan.max_trailing_stages, trailing_stages);
  }
  return plan;
}

std::vector<int> NonDominated(absl::Span<const SlicePlan* const> plans) {
  std::vector<Merits> merits;
  for (const SlicePlan* plan : plans) merits.push_back(MeritsOf(*plan));
  const int num_plans = static_cast<int>(plans.size());
  std::vector<int> kept;
  for (int i = 0; i < num_plans; ++i) {
    bool dominated = false;
    for (int j = 0; j < num_plans && !dominated; ++j) {
      dominated = j != i && AtLeastAsGood(merits[j], merits[i]) &&
                  (j < i || !AtLeastAsGood(merits[i], merits[j]));
    }
    if (!dominated) kept.push_back(i);
  }
  return kept;
}

}  // namespace tangram::aceso
