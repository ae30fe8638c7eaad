#include "coordinator/planners/polish/plan_climber.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/status_macros.h"
#include "common/cost/stage_cost.h"
#include "common/domain/model_slice.h"
#include "common/domain/stage_part.h"
#include "coordinator/planners/judge/judge_plan.h"
#include "coordinator/planners/polish/plan_moves.h"
#include "coordinator/planners/polish/stage_tuner.h"

namespace tangram {
namespace {

// A change must gain more than this fraction, so that rounding makes no cycle.
constexpr double kLeastGain = 1e-6;

// A better balanced plan may take longer by this fraction, on the way to a
// faster one.
constexpr double kSlack = 2e-4;

// The power of Imbalance. High, as the slowest stages count.
constexpr double kPower = 16;

// The slowest stages, which may give work to others.
constexpr int kMostGivers = 6;

// The distance over which the stages that give and take work are tuned again.
// Beyond, too many plans would be tried.
constexpr int kMostTunedDistance = 2;

// The share of measured compute time may fall by this much, as layers that were
// not measured become a larger share.
constexpr double kMostMeasuredLoss = 0.02;

// Pairs of stages are swapped in pipelines of at most so many.
constexpr int kMostSwappedStages = 16;

// Returns the time of one microbatch.
double SecondsOf(const StageEvaluation& stage) {
  return stage.forward_s + stage.backward_s + stage.send_s;
}

// How far borders move: over so many cuts of a list.
struct Step {
  int list = 0;
  int num_cuts = 0;
};

}  // namespace

class PlanClimber::Climb {
 public:
  Climb(const PlanRequest& request, const PipelineRules& rules,
        const std::vector<LayerRun>& runs, PlanObserver& observer,
        StageEstimator& estimator, StageTuner& tuner, double least_measured,
        PolishedPlan start, int64_t most_estimates)
      : request_(request),
        rules_(rules),
        runs_(runs),
        observer_(observer),
        estimator_(estimator),
        tuner_(tuner),
        least_measured_(least_measured),
        best_(std::move(start)),
        current_(best_),
        most_estimates_(most_estimates + tuner.num_estimated()) {
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

  int64_t num_played() const { return num_played_; }

 private:
  Runtime::Cuts FinestCuts() const {
    if (rules_.runtime == nullptr) return Runtime::Cuts::kOperators;
    return rules_.stages.residual_cuts
               ? std::min(rules_.runtime->cuts, Runtime::Cuts::kResiduals)
               : rules_.runtime->cuts;
  }

  bool is_spent() const {
    return stopped_ || num_played_ + tuner_.num_estimated() >= most_estimates_;
  }

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
    const auto tune = [this](int stage) { return TryTuned(stage); };
    const auto give = [&](int giver) {
      return GiveWork(giver, furthest, &StageTuner::FitRecompute);
    };
    const auto give_tuned = [&](int giver) {
      return GiveWork(giver, kMostTunedDistance, &StageTuner::Tune);
    };
    return absl::c_any_of(stages, tune) || absl::c_any_of(givers, give) ||
           absl::c_any_of(givers, give_tuned) || ChangeOrder();
  }

  StageSetting SettingOf(const PipelinePlan& plan, int position) const {
    const int in_flight = current_.evaluation.stages[position].in_flight;
    return {.microbatch_size = plan.pipeline_microbatch_size,
            .num_microbatches = request_.training.global_batch_size /
                                plan.pipeline_microbatch_size,
            .in_flight = in_flight};
  }

  // Likewise if the other stages stay as they are. The slowest of them sets the
  // pace, and the last of them the end.
  StageSetting SettingBesideOthers(const PipelinePlan& plan,
                                   int position) const {
    StageSetting setting = SettingOf(plan, position);
    const std::vector<StageEvaluation>& stages = current_.evaluation.stages;
    double end_s = 0;
    for (int s = 0; s < plan.num_stages(); ++s) {
      if (s == position) continue;
      const StageEvaluation& other = stages[s];
      setting.free_pass_s =
          std::max(setting.free_pass_s, other.forward_s + other.backward_s);
      end_s = std::max(end_s,
                       other.passes_end_s + other.sync_s + other.optimizer_s);
    }
    setting.free_tail_s = std::max(0.0, end_s - stages[position].passes_end_s);
    return setting;
  }

  // How a stage is made to fit.
  using Fitting = bool (StageTuner::*)(const StageSetting&, PlacedStage&);

  // Lets the stages of `plan` that differ from those of the current one fit.
  // Returns false if one does not.
  bool FitStages(Fitting fit, PipelinePlan& plan) {
    for (int s = 0; s < plan.num_stages(); ++s) {
      if (plan.stages[s] == current_.plan.stages[s]) continue;
      if (!(tuner_.*fit)(SettingOf(plan, s), plan.stages[s])) return false;
    }
    return true;
  }

  bool TryTuned(int stage) {
    const PipelinePlan& now = current_.plan;
    const StageSetting settings[] = {SettingOf(now, stage),
                                     SettingBesideOthers(now, stage)};
    return absl::c_any_of(settings, [&](const StageSetting& setting) {
      if (is_spent()) return false;
      PipelinePlan plan = current_.plan;
      return tuner_.Tune(setting, plan.stages[stage]) &&
             plan != current_.plan && Try(plan);
    });
  }

  // Moves work from `giver` to another stage, the nearest first.
  bool GiveWork(int giver, int furthest, Fitting fit) {
    for (const Step& step : steps_) {
      for (int distance = 1; distance <= furthest; ++distance) {
        for (const int taker : {giver - distance, giver + distance}) {
          if (is_spent()) return false;
          std::optional<PipelinePlan> plan = MoveWork(giver, taker, step);
          if (plan.has_value() && FitStages(fit, *plan) && Try(*plan)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  // Swaps the GPUs of two stages on different islands.
  bool ChangeOrder() {
    const int num_stages = current_.plan.num_stages();
    if (num_stages > kMostSwappedStages || !request_.constraints.pins.empty()) {
      return false;
    }
    for (int a = 0; a < num_stages; ++a) {
      for (int b = a + 1; b < num_stages; ++b) {
        if (is_spent()) return false;
        PipelinePlan plan = current_.plan;
        PlacedStage& first = plan.stages[a];
        PlacedStage& second = plan.stages[b];
        if (first.island == second.island) continue;
        std::swap(first, second);
        std::swap(first.plan.begin, second.plan.begin);
        std::swap(first.plan.end, second.plan.end);
        if (FitStages(&StageTuner::FitRecompute, plan) && Try(plan))
          return true;
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

  // Plays the plan if it is legal, and makes it the current one if it fits and
  // helps.
  bool Try(const PipelinePlan& wanted) {
    stopped_ |= observer_.ShouldStop();
    if (stopped_) return false;
    if (!IsRunnable(wanted)) return false;
    // A runtime seldom changes plans, and making the plan its own takes longer
    // than to play it.
    std::optional<Evaluation> played = PlayIfHelps(wanted);
    if (!played.has_value()) return false;
    PipelinePlan plan = wanted;
    if (rules_.fit) {
      absl::StatusOr<PipelinePlan> fitted = rules_.fit(request_, wanted);
      if (!fitted.ok() || *fitted == current_.plan) return false;
      plan = *std::move(fitted);
      if (plan != wanted) played = PlayIfHelps(plan);
      if (!played.has_value()) return false;
    }
    current_ = {std::move(plan), *std::move(played)};
    imbalance_ = Imbalance(current_.evaluation);
    if (IsFaster(current_.evaluation)) best_ = current_;
    return true;
  }

  bool IsFaster(const Evaluation& played) const {
    return played.iteration_time_s <
           best_.evaluation.iteration_time_s * (1 - kLeastGain);
  }

  // Returns the evaluation of the plan if it fits, and is faster than the best
  // or better balanced than the current one.
  std::optional<Evaluation> PlayIfHelps(const PipelinePlan& plan) {
    if (!CanHelp(plan)) return std::nullopt;
    num_played_ += plan.num_stages();
    absl::StatusOr<std::optional<Evaluation>> judged =
        JudgePlan(estimator_, plan, observer_);
    stopped_ |= !judged.ok();
    if (!judged.ok() || !judged->has_value()) return std::nullopt;
    const Evaluation& played = **judged;
    if (played.measured_fraction < least_measured_) return std::nullopt;
    const bool is_better_balanced =
        played.iteration_time_s <
            best_.evaluation.iteration_time_s * (1 + kSlack) &&
        Imbalance(played) < imbalance_ * (1 - kLeastGain);
    if (!IsFaster(played) && !is_better_balanced) return std::nullopt;
    return *std::move(judged);
  }

  // Returns whether the plan fits and may be fast enough.
  bool CanHelp(const PipelinePlan& plan) {
    num_played_ += plan.num_stages();
    const absl::StatusOr<PlanOutline> outline = OutlinePlan(
        estimator_, plan, [this] { return observer_.ShouldStop(); });
    stopped_ |= absl::IsCancelled(outline.status());
    return outline.ok() && outline->violations.empty() &&
           outline->least_s < best_.evaluation.iteration_time_s * (1 + kSlack);
  }

  bool IsRunnable(const PipelinePlan& plan) const {
    return rules_.runtime == nullptr ||
           absl::c_all_of(plan.stages, [this](const PlacedStage& stage) {
             return WhyNotRunnable(*rules_.runtime, stage.plan, runs_).empty();
           });
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  const std::vector<LayerRun>& runs_;
  PlanObserver& observer_;
  StageEstimator& estimator_;
  StageTuner& tuner_;
  const double least_measured_;
  PolishedPlan best_;
  PolishedPlan current_;  // About as fast as the best.
  const int64_t most_estimates_;
  std::vector<std::vector<OperatorCut>> cuts_;  // Coarse to fine.
  std::vector<Step> steps_;
  double slowest_s_ = 0;  // The slowest stage at the start.
  double imbalance_ = 0;  // Imbalance of the current plan.
  int64_t num_played_ = 0;
  bool stopped_ = false;
};

PlanClimber::PlanClimber(const PlanRequest& request, const PipelineRules& rules,
                         const PolishedPlan& plan, PlanObserver& observer)
    : request_(request),
      rules_(rules),
      observer_(observer),
      least_measured_(plan.evaluation.measured_fraction - kMostMeasuredLoss),
      runs_(MakeSlice({0, request.model.num_layers()}, request.model.layers)
                .runs),
      estimator_(request.model, request.cluster, request.training),
      tuner_(request, rules, plan.plan, estimator_) {}

absl::StatusOr<PolishedPlan> PlanClimber::From(PolishedPlan start,
                                               int64_t most_estimates) {
  Climb climb(request_, rules_, runs_, observer_, estimator_, tuner_,
              least_measured_, std::move(start), most_estimates);
  absl::StatusOr<PolishedPlan> top = climb.Run();
  num_played_ += climb.num_played();
  return top;
}

absl::StatusOr<std::optional<PolishedPlan>> PlanClimber::Settle(
    PipelinePlan plan) {
  if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
  if (!ValidatePlan(request_.model, *request_.cluster, request_.training, plan)
           .ok()) {
    return std::nullopt;
  }
  const int num_microbatches =
      request_.training.global_batch_size / plan.pipeline_microbatch_size;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const int in_flight =
        InFlightMicrobatches(plan.num_stages() - 1 - s, num_microbatches);
    const StageSetting setting{.microbatch_size = plan.pipeline_microbatch_size,
                               .num_microbatches = num_microbatches,
                               .in_flight = in_flight};
    if (!tuner_.Tune(setting, plan.stages[s])) return std::nullopt;
  }
  if (rules_.fit) {
    absl::StatusOr<PipelinePlan> fitted = rules_.fit(request_, plan);
    if (!fitted.ok()) return std::nullopt;
    plan = *std::move(fitted);
  }
  num_played_ += plan.num_stages();
  TANGRAM_ASSIGN_OR_RETURN(std::optional<Evaluation> evaluation,
                           JudgePlan(estimator_, plan, observer_));
  if (!evaluation.has_value() ||
      evaluation->measured_fraction < least_measured_) {
    return std::nullopt;
  }
  return PolishedPlan{std::move(plan), *std::move(evaluation)};
}

}  // namespace tangram
