#include "coordinator/planners/polish/plan_climber.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "common/base/status_macros.h"
#include "common/cost/stage_cost.h"
#include "common/domain/stage_part.h"
#include "coordinator/planners/judge/judge_plan.h"
#include "coordinator/planners/polish/plan_moves.h"
#include "coordinator/planners/polish/stage_settings.h"
#include "coordinator/planners/polish/stage_tuner.h"

namespace tangram {
namespace {

// How a stage is made to fit.
using Fitting = bool (StageTuner::*)(const StageSetting&, PlacedStage&);

// Chunks of one device share their degrees, so these stay.
Fitting FittingFor(const PipelinePlan& plan) {
  return plan.virtual_stages > 1 ? &StageTuner::FitRecompute
                                 : &StageTuner::Tune;
}

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

// Returns for each stage how long it may work after its last pass, if the first
// stage ends the iteration: as long as that, and as the last backward pass
// takes from one to the other.
std::vector<double> FreeTails(StageEstimator& estimator,
                              const PipelinePlan& plan) {
  std::vector<double> free_s(plan.num_stages());
  if (plan.virtual_stages > 1) return free_s;
  double way_s = 0;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const StageCost& cost =
        estimator.CostOf(plan.stages[s], plan.pipeline_microbatch_size);
    if (s == 0) {
      way_s = cost.sync_s + cost.optimizer_s;
    } else {
      free_s[s] = way_s;
    }
    way_s += cost.backward_s;
  }
  return free_s;
}

// How far borders move: over so many cuts of a list.
struct Step {
  int list = 0;
  int num_cuts = 0;
};

// All that changes in the plans of a climb, but for the GPUs of stages that
// swap them.
struct Attempted {
  std::vector<StagePlan> stages;
  std::vector<int> warm_up_passes;

  bool operator==(const Attempted&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Attempted& attempted) {
    for (const StagePlan& stage : attempted.stages) {
      h = H::combine(std::move(h), stage.end.layer, stage.end.op,
                     stage.parallelism.zero_stage);
      for (const RecomputeRun& run : stage.recompute) {
        h = H::combine(std::move(h), run.num_layers, run.mask);
      }
    }
    return H::combine(std::move(h), attempted.warm_up_passes);
  }
};

Attempted AttemptedOf(const PipelinePlan& plan) {
  Attempted attempted{.warm_up_passes = plan.warm_up_passes};
  attempted.stages.reserve(plan.num_stages());
  for (const PlacedStage& stage : plan.stages) {
    attempted.stages.push_back(stage.plan);
  }
  return attempted;
}

}  // namespace

class PlanClimber::Climb {
 public:
  Climb(const PlanRequest& request, const PipelineRules& rules,
        PlanObserver& observer, StageEstimator& estimator, StageTuner& tuner,
        double least_measured, PolishedPlan start, int64_t most_estimates)
      : request_(request),
        rules_(rules),
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
      if (cuts > FinestCuts(rules)) continue;
      const int list = static_cast<int>(cuts_.size());
      cuts_.push_back(CutsOf(request.model, cuts));
      for (const int num_cuts : {2, 1}) steps_.push_back({list, num_cuts});
    }
    const std::vector<double> seconds =
        DeviceSeconds(best_.plan, best_.evaluation.stages);
    slowest_s_ = *absl::c_max_element(seconds);
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
  bool is_spent() const {
    return stopped_ || num_played_ + tuner_.num_estimated() >= most_estimates_;
  }

  int num_devices() const { return current_.plan.num_devices(); }

  // Returns the stages, those of the device with the longest microbatch first.
  std::vector<int> SlowestFirst() const {
    const std::vector<double> seconds =
        DeviceSeconds(current_.plan, current_.evaluation.stages);
    std::vector<int> order(current_.plan.num_stages());
    absl::c_iota(order, 0);
    absl::c_stable_sort(order, [&](int a, int b) {
      return seconds[a % seconds.size()] > seconds[b % seconds.size()];
    });
    return order;
  }

  // Σ (t_d / t)^p with t_d the time of a microbatch on device d, and t that of
  // the slowest device at the start. It falls if one of several slow devices
  // becomes faster, which alone leaves the iteration as long as it was.
  double Imbalance(const Evaluation& evaluation) const {
    double sum = 0;
    for (const double seconds :
         DeviceSeconds(current_.plan, evaluation.stages)) {
      sum += std::pow(seconds / slowest_s_, kPower);
    }
    return sum;
  }

  // Keeps the first change that helps, the cheapest to try first. False: none
  // does.
  bool ImproveOnce() {
    in_vain_.clear();
    const std::vector<int> stages = SlowestFirst();
    const size_t num_givers = std::min<size_t>(kMostGivers, stages.size());
    const absl::Span<const int> givers(stages.data(), num_givers);
    const int furthest = static_cast<int>(stages.size()) - 1;
    const auto tune = [this](int stage) { return TryTuned(stage); };
    const auto give = [&](int giver) {
      return GiveWork(giver, furthest, &StageTuner::FitRecompute);
    };
    const auto give_tuned = [&](int giver) {
      return current_.plan.virtual_stages == 1 &&
             GiveWork(giver, kMostTunedDistance, &StageTuner::Tune);
    };
    const std::function<bool()> kinds[] = {
        [&] { return ChangeWarmUp(); },
        [&] { return absl::c_any_of(stages, tune); },
        [&] { return absl::c_any_of(givers, give); },
        [&] { return absl::c_any_of(givers, give_tuned); },
        [&] { return ChangeOrder(); }};
    // With all kinds of change, that which helped before likely helps again.
    // Runtimes allow fewer, of which the cheapest go first.
    const size_t first = rules_.runtime == nullptr ? kind_ : 0;
    for (size_t i = 0; i < std::size(kinds); ++i) {
      kind_ = (first + i) % std::size(kinds);
      if (kinds[kind_]()) return true;
    }
    return false;
  }

  // Returns the microbatches that each stage holds.
  std::vector<int> HeldNow() const {
    std::vector<int> held;
    for (const StageEvaluation& stage : current_.evaluation.stages) {
      held.push_back(stage.in_flight);
    }
    return held;
  }

  StageSetting SettingAt(const PipelinePlan& plan, int position) {
    return SettingOf(estimator_, plan, HeldNow(), position);
  }

  // Likewise if the other stages stay as they are. The slowest of them sets the
  // pace, and the last of them the end.
  StageSetting SettingBesideOthers(const PipelinePlan& plan, int position) {
    StageSetting setting = SettingAt(plan, position);
    const std::vector<StageEvaluation>& stages = current_.evaluation.stages;
    std::vector<double> passes_s(num_devices());
    double end_s = 0;
    for (int s = 0; s < plan.num_stages(); ++s) {
      if (s == position) continue;
      const StageEvaluation& other = stages[s];
      passes_s[s % num_devices()] += other.forward_s + other.backward_s;
      end_s = std::max(end_s,
                       other.passes_end_s + other.sync_s + other.optimizer_s);
    }
    const double own_s = passes_s[position % num_devices()];
    setting.free_pass_s = std::max(0.0, *absl::c_max_element(passes_s) - own_s);
    setting.free_tail_s = std::max(0.0, end_s - stages[position].passes_end_s);
    return setting;
  }

  // Lets the stages of `plan` that differ from those of the current one fit.
  // Returns false if one does not.
  bool FitStages(Fitting fit, PipelinePlan& plan) {
    const std::vector<int> held = HeldNow();
    for (int s = 0; s < plan.num_stages(); ++s) {
      if (plan.stages[s] == current_.plan.stages[s]) continue;
      if (!(tuner_.*fit)(SettingOf(estimator_, plan, held, s),
                         plan.stages[s])) {
        return false;
      }
    }
    return true;
  }

  bool TryTuned(int stage) {
    const PipelinePlan& now = current_.plan;
    const StageSetting settings[] = {SettingAt(now, stage),
                                     SettingBesideOthers(now, stage)};
    return absl::c_any_of(settings, [&](const StageSetting& setting) {
      if (is_spent()) return false;
      PipelinePlan plan = current_.plan;
      return (tuner_.*FittingFor(plan))(setting, plan.stages[stage]) &&
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

  // Adds warm-up passes to the first stages of a plan that sets them, or takes
  // some from them.
  bool ChangeWarmUp() {
    if (current_.plan.warm_up_passes.empty()) return false;
    const int num_borders = current_.plan.num_stages() - 1;
    for (const Fitting fit : {&StageTuner::FitRecompute, &StageTuner::Tune}) {
      for (const int change : {1, -1, 2, 4}) {
        for (int last = 0; last < num_borders; ++last) {
          if (is_spent()) return false;
          if (TryWarmUp(last, change, fit)) return true;
        }
      }
    }
    return false;
  }

  bool TryWarmUp(int last, int change, Fitting fit) {
    PipelinePlan plan = current_.plan;
    std::vector<int>& passes = plan.warm_up_passes;
    if (passes[last] + change < passes[last + 1]) return false;
    for (int s = 0; s <= last; ++s) passes[s] += change;
    return FitFirst(last + 1, fit, plan) && Try(plan);
  }

  // Lets the first stages fit that hold other numbers of microbatches than now.
  bool FitFirst(int num_stages, Fitting fit, PipelinePlan& plan) {
    const std::vector<int> held = HeldByStages(plan, request_.training);
    for (int s = 0; s < num_stages; ++s) {
      if (!(tuner_.*fit)(SettingOf(estimator_, plan, held, s),
                         plan.stages[s])) {
        return false;
      }
    }
    return true;
  }

  // Swaps the GPUs of two stages on different islands.
  bool ChangeOrder() {
    const int num_stages = current_.plan.num_stages();
    if (num_stages > kMostSwappedStages || current_.plan.virtual_stages > 1 ||
        !request_.constraints.pins.empty()) {
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
        if (FitStages(&StageTuner::FitRecompute, plan) && TryAnew(plan))
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

  // TryAnew for a plan on the GPUs of the current one. Several changes lead to
  // the same plan, which is no better the second time, but counts as if it were
  // tried again.
  bool Try(const PipelinePlan& wanted) {
    const auto [known, is_new] = in_vain_.emplace(AttemptedOf(wanted), 0);
    if (!is_new) {
      num_played_ += known->second;
      return false;
    }
    const int64_t before = num_played_;
    if (TryAnew(wanted)) return true;
    known->second = num_played_ - before;
    return false;
  }

  // Plays the plan if it is legal, and makes it the current one if it fits and
  // helps.
  bool TryAnew(const PipelinePlan& wanted) {
    stopped_ |= observer_.ShouldStop();
    if (stopped_) return false;
    if (!IsRunnable(wanted)) return false;
    // A runtime seldom changes plans, and making the plan its own takes longer
    // than to play it.
    std::optional<Evaluation> played = PlayIfHelps(wanted);
    if (!played.has_value()) return false;
    absl::StatusOr<PipelinePlan> fitted = FitPlan(rules_, request_, wanted);
    if (!fitted.ok() || *fitted == current_.plan) return false;
    if (*fitted != wanted) played = PlayIfHelps(*fitted);
    if (!played.has_value()) return false;
    current_ = {*std::move(fitted), *std::move(played)};
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
    num_played_ += plan.num_stages();
    const double limit_s = best_.evaluation.iteration_time_s * (1 + kSlack);
    absl::StatusOr<std::optional<Evaluation>> played = EvaluateWithin(
        estimator_, plan, limit_s, [this] { return observer_.ShouldStop(); });
    stopped_ |= absl::IsCancelled(played.status());
    // Errors are rules that the plan breaks in this training.
    if (!played.ok() || !played->has_value()) return std::nullopt;
    num_played_ += plan.num_stages();
    const Evaluation& evaluation = **played;
    if (evaluation.measured_fraction < least_measured_) return std::nullopt;
    const bool is_better_balanced =
        evaluation.iteration_time_s < limit_s &&
        Imbalance(evaluation) < imbalance_ * (1 - kLeastGain);
    if (!IsFaster(evaluation) && !is_better_balanced) return std::nullopt;
    return *std::move(played);
  }

  bool IsRunnable(const PipelinePlan& plan) const {
    if (rules_.runtime == nullptr) return true;
    return WhyNotScheduled(*rules_.runtime, plan).empty() &&
           absl::c_all_of(plan.stages, [this](const PlacedStage& stage) {
             return WhyNotRunnable(*rules_.runtime, stage.plan,
                                   estimator_.runs())
                 .empty();
           });
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  PlanObserver& observer_;
  StageEstimator& estimator_;
  StageTuner& tuner_;
  const double least_measured_;
  PolishedPlan best_;
  PolishedPlan current_;  // About as fast as the best.
  const int64_t most_estimates_;
  std::vector<std::vector<OperatorCut>> cuts_;  // Coarse to fine.
  std::vector<Step> steps_;
  // Plans that did not help since the current one is it, and the stages that
  // were looked up for each.
  absl::flat_hash_map<Attempted, int64_t> in_vain_;
  double slowest_s_ = 0;  // The slowest stage at the start.
  double imbalance_ = 0;  // Imbalance of the current plan.
  size_t kind_ = 0;       // The kind of change that helped last.
  int64_t num_played_ = 0;
  bool stopped_ = false;
};

double LeastMeasured(const PolishedPlan& plan) {
  return plan.evaluation.measured_fraction - kMostMeasuredLoss;
}

PlanClimber::PlanClimber(const PlanRequest& request, const PipelineRules& rules,
                         const PolishedPlan& plan, PlanObserver& observer)
    : request_(request),
      rules_(rules),
      observer_(observer),
      least_measured_(LeastMeasured(plan)),
      estimator_(request.model, request.cluster, request.training),
      tuner_(request, rules, plan.plan, estimator_) {}

absl::StatusOr<PolishedPlan> PlanClimber::From(PolishedPlan start,
                                               int64_t most_estimates) {
  Climb climb(request_, rules_, observer_, estimator_, tuner_, least_measured_,
              std::move(start), most_estimates);
  absl::StatusOr<PolishedPlan> top = climb.Run();
  num_played_ += climb.num_played();
  return top;
}

absl::StatusOr<std::optional<PolishedPlan>> PlanClimber::Settle(
    PipelinePlan plan, Effort effort) {
  if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
  if (!estimator_.Validate(plan).ok()) return std::nullopt;
  const std::vector<int> held = HeldByStages(plan, request_.training);
  const std::vector<double> free_tails_s = FreeTails(estimator_, plan);
  const auto setting = [&](int s) {
    StageSetting own = SettingOf(estimator_, plan, held, s);
    own.free_tail_s = free_tails_s[s];
    return own;
  };
  if (plan.virtual_stages > 1) {
    // Each chunk then gets the memory that the others leave.
    for (int s = 0; s < plan.num_stages(); ++s) {
      tuner_.RecomputeMost(setting(s), plan.stages[s]);
    }
  }
  for (int s = 0; s < plan.num_stages(); ++s) {
    const bool fits = effort == Effort::kHasty &&
                      tuner_.FitRecompute(setting(s), plan.stages[s]);
    if (!fits && !(tuner_.*FittingFor(plan))(setting(s), plan.stages[s])) {
      return std::nullopt;
    }
  }
  absl::StatusOr<PipelinePlan> fitted = FitPlan(rules_, request_, plan);
  if (!fitted.ok()) return std::nullopt;
  plan = *std::move(fitted);
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
