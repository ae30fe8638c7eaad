#include "coordinator/planners/anneal/scope.h"

#include <numeric>

#include "common/domain/stage_limits.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/polish/plan_moves.h"

namespace tangram::anneal {

CutLists CutListsOf(const ModelSpec& model) {
  CutLists lists;
  for (size_t cuts = 0; cuts < lists.size(); ++cuts) {
    lists[cuts] = CutsOf(model, static_cast<Runtime::Cuts>(cuts));
  }
  return lists;
}

const Move& DrawMove(absl::Span<const Move> moves, Draw& draw) {
  int sum = 0;
  for (const Move& move : moves) sum += move.weight;
  int left = draw.Below(sum);
  const Move* drawn = moves.data();
  while (left >= drawn->weight) left -= (drawn++)->weight;
  return *drawn;
}

std::vector<int> DrawScope(Draw& draw, const PipelinePlan& plan) {
  const int num_devices = plan.num_devices();
  const int one = draw.Below(num_devices);
  const int width = draw.Below(4);  // 0, 1: one stage; 2: island; 3: all.
  std::vector<int> scope;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const int device = s % num_devices;
    const bool is_on_island =
        plan.stages[device].island == plan.stages[one].island;
    if (width == 3 || (width == 2 && is_on_island) || device == one) {
      scope.push_back(s);
    }
  }
  return scope;
}

StageParallelism DrawDegrees(const MoveContext& context, int num_gpus) {
  Draw& draw = context.draw;
  StageParallelism drawn;
  drawn.tp_degree = draw.Of(DivisorsOf(num_gpus));
  const int rest = num_gpus / drawn.tp_degree;
  if (draw.OneIn(5)) drawn.cp_degree = draw.Of(DivisorsOf(rest));
  drawn.dp_degree = rest / drawn.cp_degree;
  if (context.problem.request.model.has_experts())
    drawn.ep_degree = draw.Of(DivisorsOf(rest));
  drawn.sequence_parallel = drawn.tp_degree > 1 && draw.OneIn(2);
  return drawn;
}

void SetDegrees(const StageParallelism& drawn, PlacedStage& stage) {
  const int num_gpus = static_cast<int>(stage.gpus.size());
  StageParallelism set = drawn;
  set.tp_degree = std::gcd(drawn.tp_degree, num_gpus);
  set.cp_degree = std::gcd(drawn.cp_degree, num_gpus / set.tp_degree);
  set.dp_degree = num_gpus / set.tp_degree / set.cp_degree;
  set.ep_degree = std::gcd(drawn.ep_degree, set.num_replicas());
  set.sequence_parallel = drawn.sequence_parallel && set.tp_degree > 1;
  set.fsep = stage.plan.parallelism.fsep && set.ep_degree > 1;
  const bool has_replicas = set.num_replicas() > 1;
  const StageParallelism& before = stage.plan.parallelism;
  SetZero({.zero_degree = before.zero_degree},
          has_replicas ? before.zero_stage : 0, set);
  stage.plan.parallelism = set;
  stage.mixed = {};
}

OpMask DrawMask(const MoveContext& context, const PipelinePlan& plan) {
  return context.draw.Of(MasksOf(context.problem.request.model, plan));
}

}  // namespace tangram::anneal
