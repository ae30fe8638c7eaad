#include <algorithm>
#include <utility>
#include <vector>

#include "coordinator/planners/anneal/moves.h"
#include "coordinator/planners/anneal/scope.h"
#include "coordinator/planners/polish/plan_moves.h"

namespace tangram::anneal {
namespace {

// The farthest that a border moves at once, in cuts.
constexpr int kMostCuts = 3;

double SecondsOf(const StageEvaluation& stage) {
  return stage.forward_s + stage.backward_s + stage.send_s;
}

// Returns the slowest stage half of the time, or any.
int DrawGiver(const MoveContext& context, const PipelinePlan& plan) {
  const std::vector<StageEvaluation>& stages = context.now.stages;
  if (context.draw.OneIn(2) || stages.size() != plan.stages.size()) {
    return context.draw.Below(plan.num_stages());
  }
  const auto slowest =
      std::max_element(stages.begin(), stages.end(),
                       [](const StageEvaluation& a, const StageEvaluation& b) {
                         return SecondsOf(a) < SecondsOf(b);
                       });
  return static_cast<int>(slowest - stages.begin());
}

// Draws where stages may end, from coarse to as fine as the runtime allows.
const std::vector<OperatorCut>& DrawCuts(const MoveContext& context) {
  const Runtime* runtime = context.problem.rules.runtime;
  const Runtime::Cuts finest =
      runtime == nullptr ? Runtime::Cuts::kOperators : runtime->cuts;
  return context.cuts[context.draw.Below(static_cast<int>(finest) + 1)];
}

// Moves all borders between two stages by as many cuts, so that the stages
// between them pass on what they get.
bool MoveBorders(const MoveContext& context, PipelinePlan& plan) {
  Draw& draw = context.draw;
  if (plan.num_stages() < 2) return false;
  const int giver = DrawGiver(context, plan);
  int taker = draw.OneIn(2) ? giver + (draw.OneIn(2) ? 1 : -1)
                            : draw.Below(plan.num_stages());
  taker = std::clamp(taker, 0, plan.num_stages() - 1);
  if (taker == giver) return false;
  const std::vector<OperatorCut>& cuts = DrawCuts(context);
  const int num_cuts = 1 + draw.Below(kMostCuts);
  const auto [first, last] = std::minmax(giver, taker);
  std::vector<OperatorCut> borders;
  OperatorCut before;
  for (int s = 0; s + 1 < plan.num_stages(); ++s) {
    OperatorCut border = plan.stages[s].plan.end;
    if (s >= first && s < last) {
      const auto later = std::upper_bound(cuts.begin(), cuts.end(), border);
      const auto earlier = std::lower_bound(cuts.begin(), cuts.end(), border);
      const auto at = taker < giver ? later - cuts.begin() + num_cuts - 1
                                    : earlier - cuts.begin() - num_cuts;
      if (at <= 0 || at >= static_cast<int>(cuts.size())) return false;
      border = cuts[at];
    }
    if (border <= before) return false;
    borders.push_back(border);
    before = border;
  }
  Recut(context.problem.request.model, borders, plan);
  return true;
}

// Changes what one layer of a stage recomputes, or all its layers of one mask.
bool ChangeRecompute(const MoveContext& context, PipelinePlan& plan) {
  Draw& draw = context.draw;
  const ModelSpec& model = context.problem.request.model;
  const int stage = draw.Below(plan.num_stages());
  const std::vector<OpMask> masks = MasksOf(model, plan);
  const OpMask from = draw.Of(plan.stages[stage].plan.recompute).mask;
  const OpMask to = draw.Of(masks);
  if (from == to || !ChangeMask(model, stage, from, to, plan)) return false;
  if (!draw.OneIn(4)) return true;
  while (ChangeMask(model, stage, from, to, plan)) {
  }
  return true;
}

bool ChangeOffload(const MoveContext& context, PipelinePlan& plan) {
  const Runtime* runtime = context.problem.rules.runtime;
  if (context.problem.keeps_offload) return false;
  if (runtime != nullptr && !runtime->offload) return false;
  static constexpr double HostOffload::*kParts[] = {
      &HostOffload::weights, &HostOffload::gradients, &HostOffload::optimizer,
      &HostOffload::activations};
  const double fraction = context.draw.Below(5) / 4.0;
  double HostOffload::*const part = kParts[context.draw.Below(4)];
  return ChangeStages(context, plan, [&](PlacedStage& stage) {
    stage.plan.offload.*part = fraction;
  });
}

// Work that moves to another stage may need the memory that less recomputation
// took there, or the reverse.
bool Trade(const MoveContext& context, PipelinePlan& plan);

constexpr Move kSmallMoves[] = {{"border", 4, MoveBorders},
                                {"recompute", 3, ChangeRecompute},
                                {"offload", 1, ChangeOffload},
                                {"trade", 2, Trade}};

bool Trade(const MoveContext& context, PipelinePlan& plan) {
  const absl::Span<const Move> others =
      absl::MakeConstSpan(kSmallMoves).first(3);
  return DrawMove(others, context.draw).change(context, plan) &&
         DrawMove(others, context.draw).change(context, plan);
}

}  // namespace

absl::Span<const Move> SmallMoves() { return kSmallMoves; }

}  // namespace tangram::anneal
