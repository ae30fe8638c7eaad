#include <algorithm>
#include <vector>

#include "coordinator/planners/anneal/moves.h"
#include "coordinator/planners/anneal/spread.h"

namespace tangram::anneal {
namespace {

// Gives each device `chunks` stages, or one again.
bool SetChunks(const MoveContext& context, int chunks, PipelinePlan& plan) {
  plan.stages.resize(plan.num_devices());
  plan.virtual_stages = chunks;
  const std::vector<PlacedStage> devices = plan.stages;
  for (int chunk = 1; chunk < chunks; ++chunk) {
    plan.stages.insert(plan.stages.end(), devices.begin(), devices.end());
  }
  return SpreadAll(context, plan);
}

bool ChangeSchedule(const MoveContext& context, PipelinePlan& plan) {
  if (plan.num_devices() == 1) return false;  // All are one order of passes.
  const PipelineSchedule schedule = context.draw.Of(std::vector(
      std::begin(kPipelineSchedules), std::end(kPipelineSchedules)));
  plan.schedule = schedule;
  plan.warm_up_passes.clear();
  if (schedule == PipelineSchedule::kInterleaved) {
    return SetChunks(context, 2 + context.draw.Below(3), plan);
  }
  return plan.virtual_stages == 1 || SetChunks(context, 1, plan);
}

// Adds a warm-up pass to the first devices, or takes one from them.
bool ChangeWarmUp(const MoveContext& context, PipelinePlan& plan) {
  if (plan.schedule != PipelineSchedule::kOneFOneB || plan.num_stages() == 1) {
    return false;
  }
  const int num_stages = plan.num_stages();
  std::vector<int>& passes = plan.warm_up_passes;
  if (passes.empty()) {
    for (int s = 0; s < num_stages; ++s) passes.push_back(num_stages - s);
  }
  const int change = context.draw.OneIn(2) ? 1 : -1;
  const int last = 1 + context.draw.Below(num_stages);
  for (int s = 0; s < last; ++s) passes[s] = std::max(1, passes[s] + change);
  return true;
}

constexpr Move kScheduleMoves[] = {{"schedule", 1, ChangeSchedule},
                                   {"warm-up", 2, ChangeWarmUp}};

}  // namespace

absl::Span<const Move> ScheduleMoves() { return kScheduleMoves; }

}  // namespace tangram::anneal
