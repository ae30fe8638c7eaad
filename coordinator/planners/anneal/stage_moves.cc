#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/domain/stage_limits.h"
#include "common/planner/plan_constraints.h"
#include "coordinator/planners/anneal/moves.h"
#include "coordinator/planners/anneal/scope.h"
#include "coordinator/planners/anneal/spread.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"

namespace tangram::anneal {
namespace {

bool ChangeDegrees(const MoveContext& context, PipelinePlan& plan) {
  Draw& draw = context.draw;
  const std::vector<int> scope = DrawScope(draw, plan);
  const PipelinePlan before = plan;
  const PlacedStage& first = plan.stages[draw.Of(scope)];
  const StageParallelism drawn =
      DrawDegrees(context, static_cast<int>(first.gpus.size()));
  for (const int stage : scope) {
    SetDegrees(drawn, plan.stages[stage]);
  }
  return plan != before;
}

bool ChangeExperts(const MoveContext& context, PipelinePlan& plan) {
  if (!context.problem.request.model.has_experts()) return false;
  const int ep_degree = 1 << context.draw.Below(7);
  const bool fsep = context.draw.OneIn(4);
  return ChangeStages(context, plan, [&](PlacedStage& stage) {
    StageParallelism& p = stage.plan.parallelism;
    if (p.num_replicas() % ep_degree != 0) return;
    p.ep_degree = ep_degree;
    p.fsep = fsep && ep_degree > 1;
  });
}

bool ChangeSequenceParallel(const MoveContext& context, PipelinePlan& plan) {
  const bool on = context.draw.OneIn(2);
  return ChangeStages(context, plan, [&](PlacedStage& stage) {
    if (stage.plan.parallelism.tp_degree == 1) return;
    stage.plan.parallelism.sequence_parallel = on;
  });
}

bool ChangeZero(const MoveContext& context, PipelinePlan& plan) {
  const int zero_stage = context.draw.Below(4);
  const StageLimits limits =
      LimitsOfAllStages(context.problem.request.constraints);
  return ChangeStages(context, plan, [&](PlacedStage& stage) {
    StageParallelism& p = stage.plan.parallelism;
    if (p.num_replicas() > 1) SetZero(limits, zero_stage, p);
  });
}

// Sets the mask of all layers of the scope.
bool ChangeAllRecompute(const MoveContext& context, PipelinePlan& plan) {
  const ModelSpec& model = context.problem.request.model;
  const OpMask mask = DrawMask(context, plan);
  return ChangeStages(context, plan, [&](PlacedStage& stage) {
    Cover(model, stage.plan.begin, stage.plan.end, mask, stage.plan);
  });
}

bool ChangeMicrobatch(const MoveContext& context, PipelinePlan& plan) {
  const std::vector<int> sizes =
      DivisorsOf(context.problem.request.training.global_batch_size);
  const auto now = absl::c_lower_bound(sizes, plan.pipeline_microbatch_size);
  const int at =
      static_cast<int>(now - sizes.begin()) + (context.draw.OneIn(2) ? 1 : -1);
  if (at < 0 || at >= static_cast<int>(sizes.size())) return false;
  plan.pipeline_microbatch_size = sizes[at];
  return true;
}

constexpr Move kStageMoves[] = {
    {"degrees", 6, ChangeDegrees},
    {"experts", 1, ChangeExperts},
    {"sequence parallelism", 2, ChangeSequenceParallel},
    {"ZeRO", 2, ChangeZero},
    {"recompute of stages", 3, ChangeAllRecompute},
    {"microbatch", 2, ChangeMicrobatch}};

}  // namespace

absl::Span<const Move> StageMoves() { return kStageMoves; }

}  // namespace tangram::anneal
