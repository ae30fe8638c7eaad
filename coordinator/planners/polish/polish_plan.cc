#include "coordinator/planners/polish/polish_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/domain/model_slice.h"
#include "common/domain/stage_part.h"
#include "coordinator/planners/judge/judge_plan.h"
#include "coordinator/planners/polish/plan_moves.h"

namespace tangram {
namespace {

// A change must gain more than this fraction, so that rounding makes no cycle.
constexpr double kLeastGain = 1e-6;

// A better balanced plan may take longer by this fraction, on the way to a
// faster one.
constexpr double kSlack = 2e-4;

// The power of Imbalance. High, as the slowest stages count.
constexpr double kPower = 16;

// The effort, in stages simulated.
constexpr int64_t kMaxStagesPlayed = 100'000;

// The slowest stages, which may give work to others.
constexpr int kMostGivers = 6;

// The layers that a stage may recompute besides, to hold the work that it gets,
// and the distance from which it gets work then. Beyond, too many plans would
// be tried.
constexpr int kMostRepairs = 4;
constexpr int kMostRepairedDistance = 2;

// Returns the time of one microbatch.
double SecondsOf(const StageEvaluation& stage) {
  return stage.forward_s + stage.backward_s + stage.send_s;
}

// How far borders move: over so many cuts of a list.
struct Step {
  int list = 0;
  int num_cuts = 0;
};

class Polisher {
 public:
  Polisher(const PlanRequest& request, const PipelineRules& rules,
           PolishedPlan start, PlanObserver& observer)
      : request_(request),
        rules_(rules),
        observer_(observer),
        best_(std::move(start)),
        current_(best_),
        runs_(MakeSlice({0, request.model.num_layers()}, request.model.layers)
                  .runs),
        masks_(MasksOf(request.model, best_.plan)) {
    for (const Runtime::Cuts cuts :
         {Runtime::Cuts::kLayers, Runtime::Cuts::kResiduals,
          Runtime::Cuts::kOperators}) {
      if (cuts > FinestCuts()) continue;
      const int list = static_cast<int>(cuts_.size());
      cuts_.push_back(CutsOf(request.model, cuts));
      for (const int num_cuts : {2, 1}) steps_.push_back({list, num_cuts});
    }
    for (const StageEvaluation& stage : best_.evaluation.stages) {
      slowest_s_ = std::max(slowest_s_, SecondsOf(stage));
    }
    imbalance_ = Imbalance(best_.evaluation);
  }

  absl::StatusOr<PolishedPlan> Run() {
    while (!is_spent() && ImproveOnce()) {
    }
    if (stopped_) return absl::CancelledError("planning stopped");
    return std::move(best_);
  }

 private:
  Runtime::Cuts FinestCuts() const {
    if (rules_.runtime == nullptr) return Runtime::Cuts::kOperators;
    return rules_.stages.residual_cuts
               ? std::min(rules_.runtime->cuts, Runtime::Cuts::kResiduals)
               : rules_.runtime->cuts;
  }

  bool is_spent() const { return stopped_ || num_played_ >= kMaxStagesPlayed; }

  // Returns the stages, the one with the longest microbatch first.
  std::vector<int> SlowestFirst() const {
    const auto& stages = current_.evaluation.stages;
    std::vector<int> order(stages.size());
    absl::c_iota(order, 0);
    absl::c_stable_sort(order, [&stages](int a, int b) {
      return SecondsOf(stages[a]) > SecondsOf(stages[b]);
    });
    return order;
  }

  // Σ (t_s / t)^p with t_s the time of a microbatch in stage s, and t that of
  // the slowest stage at the start. It falls if one of several slow stages
  // becomes faster, which alone leaves the iteration as long as it was.
  double Imbalance(const Evaluation& evaluation) const {
    double sum = 0;
    for (const StageEvaluation& stage : evaluation.stages) {
      sum += std::pow(SecondsOf(stage) / slowest_s_, kPower);
    }
    return sum;
  }

  // Keeps the first change that helps, the cheapest to try first. False: none
  // does.
  bool ImproveOnce() {
    const std::vector<int> stages = SlowestFirst();
    const size_t num_givers = std::min<size_t>(kMostGivers, stages.size());
    const absl::Span<const int> givers(stages.data(), num_givers);
    const int furthest = static_cast<int>(stages.size()) - 1;
    return absl::c_any_of(stages,
                          [this](int stage) { return RecomputeLess(stage); }) ||
           absl::c_any_of(givers,
                          [&](int giver) {
                            return GiveWork(giver, furthest, &Polisher::Try);
                          }) ||
           absl::c_any_of(givers, [this](int giver) {
             return GiveWork(giver, kMostRepairedDistance,
                             &Polisher::TryWithRepairs);
           });
  }

  bool RecomputeLess(int stage) {
    for (const OpMask from : masks_) {
      for (const OpMask to : masks_) {
        if (std::popcount(to) >= std::popcount(from)) continue;
        PipelinePlan plan = current_.plan;
        if (!ChangeMask(request_.model, stage, from, to, plan)) continue;
        if (Try(plan)) return true;
      }
    }
    return false;
  }

  // Moves work from `giver` to another stage, the nearest first.
  bool GiveWork(int giver, int furthest,
                bool (Polisher::*try_plan)(const PipelinePlan&)) {
    for (const Step& step : steps_) {
      for (int distance = 1; distance <= furthest; ++distance) {
        for (const int taker : {giver - distance, giver + distance}) {
          if (is_spent()) return false;
          const std::optional<PipelinePlan> plan = MoveWork(giver, taker, step);
          if (plan.has_value() && (this->*try_plan)(*plan)) return true;
        }
      }
    }
    return false;
  }

  // Moves all borders between the two stages by `step`, so that the stages
  // between them pass on what they get. Empty: a stage would become empty, or a
  // border may not move.
  std::optional<PipelinePlan> MoveWork(int giver, int taker,
                                       const Step& step) const {
    if (taker < 0 || taker >= current_.plan.num_stages()) return std::nullopt;
    const auto [first, last] = std::minmax(giver, taker);
    std::vector<OperatorCut> borders;
    OperatorCut before;
    for (int s = 0; s + 1 < current_.plan.num_stages(); ++s) {
      OperatorCut border = current_.plan.stages[s].plan.end;
      if (s >= first && s < last) {
        // An earlier stage gets work as borders move to later cuts.
        const std::optional<OperatorCut> moved =
            CutFrom(border, step, /*later=*/taker < giver);
        if (!moved.has_value() || !MayMove(s)) return std::nullopt;
        border = *moved;
      }
      if (border <= before) return std::nullopt;
      borders.push_back(border);
      before = border;
    }
    PipelinePlan plan = current_.plan;
    Recut(request_.model, borders, plan);
    return plan;
  }

  // Returns the cut that is `step` later or earlier. Empty: beyond the model.
  std::optional<OperatorCut> CutFrom(OperatorCut from, const Step& step,
                                     bool later) const {
    const std::vector<OperatorCut>& cuts = cuts_[step.list];
    const auto at =
        later
            ? absl::c_upper_bound(cuts, from) - cuts.begin() + step.num_cuts - 1
            : absl::c_lower_bound(cuts, from) - cuts.begin() - step.num_cuts;
    if (at <= 0 || at >= static_cast<int>(cuts.size())) return std::nullopt;
    return cuts[at];
  }

  // Pinned layers stay on their islands.
  bool MayMove(int border) const {
    const std::vector<PlacedStage>& stages = current_.plan.stages;
    return request_.constraints.pins.empty() ||
           stages[border].island == stages[border + 1].island;
  }

  // Tries the plan. If a stage exceeds its memory, it recomputes more layers,
  // with the fewest operators that suffice.
  bool TryWithRepairs(const PipelinePlan& plan) {
    if (Try(plan)) return true;
    const std::optional<int> first_short = short_of_memory_;
    for (size_t m = masks_.size(); first_short.has_value() && m-- > 0;) {
      PipelinePlan repaired = plan;
      std::optional<int> stage = first_short;
      for (int layer = 0; layer < kMostRepairs && stage.has_value(); ++layer) {
        if (is_spent() || !RecomputeMore(*stage, masks_[m], repaired)) break;
        if (Try(repaired)) return true;
        stage = short_of_memory_;
      }
    }
    return false;
  }

  // Recomputes the operators of `mask` in one more layer of the stage.
  bool RecomputeMore(int stage, OpMask mask, PipelinePlan& plan) const {
    for (size_t from = masks_.size(); from-- > 0;) {
      if (std::popcount(masks_[from]) < std::popcount(mask) &&
          ChangeMask(request_.model, stage, masks_[from], mask, plan)) {
        return true;
      }
    }
    return false;
  }

  // Plays the plan if it is legal, and makes it the current one if it fits and
  // helps. Sets short_of_memory_.
  bool Try(const PipelinePlan& wanted) {
    short_of_memory_.reset();
    stopped_ |= observer_.ShouldStop();
    if (stopped_) return false;
    if (!IsRunnable(wanted)) return false;
    PipelinePlan plan = wanted;
    if (rules_.fit) {
      absl::StatusOr<PipelinePlan> fitted = rules_.fit(request_, wanted);
      if (!fitted.ok() || *fitted == current_.plan) return false;
      plan = *std::move(fitted);
    }
    if (!CanHelp(plan)) return false;
    num_played_ += plan.num_stages();
    absl::StatusOr<std::optional<Evaluation>> judged =
        JudgePlan(request_, plan, observer_);
    stopped_ |= !judged.ok();
    if (!judged.ok() || !judged->has_value()) return false;
    Evaluation& played = **judged;
    const double seconds = played.iteration_time_s;
    const double best_s = best_.evaluation.iteration_time_s;
    const double imbalance = Imbalance(played);
    const bool is_faster = seconds < best_s * (1 - kLeastGain);
    const bool is_better_balanced = seconds < best_s * (1 + kSlack) &&
                                    imbalance < imbalance_ * (1 - kLeastGain);
    if (!is_faster && !is_better_balanced) return false;
    current_ = {std::move(plan), std::move(played)};
    imbalance_ = imbalance;
    if (is_faster) best_ = current_;
    return true;
  }

  // Returns whether the plan fits and may be fast enough. Sets
  // short_of_memory_.
  bool CanHelp(const PipelinePlan& plan) {
    num_played_ += plan.num_stages();
    const absl::StatusOr<PlanOutline> outline =
        OutlinePlan(request_.model, request_.cluster, request_.training, plan,
                    [this] { return observer_.ShouldStop(); });
    stopped_ |= absl::IsCancelled(outline.status());
    if (!outline.ok()) return false;
    if (!outline->violations.empty()) {
      short_of_memory_ = outline->violations.front().stage;
      return false;
    }
    return outline->least_s < best_.evaluation.iteration_time_s * (1 + kSlack);
  }

  bool IsRunnable(const PipelinePlan& plan) const {
    return rules_.runtime == nullptr ||
           absl::c_all_of(plan.stages, [this](const PlacedStage& stage) {
             return WhyNotRunnable(*rules_.runtime, stage.plan, runs_).empty();
           });
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  PlanObserver& observer_;
  PolishedPlan best_;
  PolishedPlan current_;  // About as fast as the best.
  const std::vector<LayerRun> runs_;
  const std::vector<OpMask> masks_;             // Most recomputation first.
  std::vector<std::vector<OperatorCut>> cuts_;  // Coarse to fine.
  std::vector<Step> steps_;
  double slowest_s_ = 0;  // The slowest stage at the start.
  double imbalance_ = 0;  // Imbalance of the current plan.
  int64_t num_played_ = 0;
  // The stage of the last plan tried that exceeds its memory.
  std::optional<int> short_of_memory_;
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<PolishedPlan> PolishPlan(const PlanRequest& request,
                                        const PipelineRules& rules,
                                        PolishedPlan start,
                                        PlanObserver& observer) {
  if (start.plan.virtual_stages > 1 || HasMixedStages(start.plan)) return start;
  return Polisher(request, rules, std::move(start), observer).Run();
}

}  // namespace tangram
