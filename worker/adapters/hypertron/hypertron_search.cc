#include "worker/adapters/hypertron/hypertron_search.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/domain/closed_form.h"
#include "worker/adapters/hypertron/hypertron_space.h"
#include "worker/adapters/search/annealing.h"
#include "worker/adapters/search/why_no_plan.h"

namespace tangram {
namespace {

// Limit on evaluated choices for callers that give none. Planners give 1,024
// for a whole model.
constexpr int64_t kDefaultSteps = 1024;
// Tuned on random instances against exhaustive search.
constexpr AnnealingSchedule kSchedule = {
    .first_temperature = 0.3, .last_temperature = 0.003, .moves = 200};
// The energy of a plan that does not fit is its time multiplied by  2 + 10 ·
// (missing bytes / bytes of a GPU).  So energy falls towards plans that fit.
// With half and with twice of each, the plans of the paper's C1 and C3
// workloads are the same.
constexpr double kDoesNotFit = 2;
constexpr double kPerMemoryMissing = 10;

// Target of a walk: the fastest plan with nothing behind the slice, or with
// room for any number of stages behind it.
enum Goal { kNothingBehind, kAnythingBehind };
constexpr Goal kGoals[] = {kNothingBehind, kAnythingBehind};

// An evaluated point.
struct Seen {
  PlanMerits merits;
  std::array<double, 2> energy_s;  // Seconds, by goal.
  double bytes_short = 0;          // With the trailing stages of the query.
};

// The walk does not depend on the query's trailing stages. A query with more
// trailing stages therefore finds no other plans.
Fingerprint SeedOf(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options) {
  return Fingerprinter()
      .Add(slice.fingerprint)
      .Add(FingerprintOf(island))
      .Add(FingerprintOf(options.training))
      .Add(options.pipeline_microbatch_size)
      .Finish();
}

// See SearchHypertron.
class Search {
 public:
  Search(const ModelSlice& slice, const IslandSpec& island,
         const ParallelizeOptions& options)
      : options_(options),
        num_microbatches_(options.training.global_batch_size /
                          options.pipeline_microbatch_size),
        capacity_bytes_(island.device.memory_bytes),
        evaluator_(slice, island, options),
        space_(island,
               SplitLimits(evaluator_.layers().kinds(),
                           options.pipeline_microbatch_size, options.training),
               evaluator_.layers().size()),
        seen_(space_.size()),
        random_(SeedOf(slice, island, options)) {}

  SlicePlanSet Run() {
    const int64_t budget = options_.max_search_steps > 0
                               ? options_.max_search_steps
                               : kDefaultSteps;
    steps_end_ = budget;
    if (IsHopeless()) return Finish();
    for (int point = 0; point < space_.size(); ++point) {
      if (space_.IsPlain(point)) EnergyOf(point, kNothingBehind);
    }
    int64_t walks = std::size(kGoals) * space_.depths().size();
    for (const Goal goal : kGoals) {
      for (const HypertronSpace::Range& depth : space_.depths()) {
        if (!CanFindMore()) return Finish();
        // Each walk gets an equal share of the remaining steps.
        const int64_t left = budget - answer_.search_steps;
        if (left <= 0) return Finish();
        steps_end_ = answer_.search_steps + (left + walks - 1) / walks;
        --walks;
        Walk(goal, depth);
      }
    }
    return Finish();
  }

 private:
  // Returns whether no point has a plan within the limit of the query.
  bool IsHopeless() {
    if (options_.limit_s == kInfinity) return false;
    for (int point = 0; point < space_.size(); ++point) {
      const double least_s = evaluator_.LeastSeconds(space_.at(point));
      if (!evaluator_.ExceedsLimit(least_s)) return false;
    }
    return true;
  }

  void Walk(Goal goal, const HypertronSpace::Range& depth) {
    Anneal(
        StartOf(goal, depth), kSchedule,
        [&](int point) { return space_.NeighboursOf(point); },
        [&](int point) { return EnergyOf(point, goal); }, random_);
  }

  // Returns whether a walk can reach a point that was not evaluated: it starts
  // at one, or some evaluated point has one as a neighbour. Limits on stages
  // often leave few points, which are soon all known.
  bool CanFindMore() {
    const auto is_seen = [this](int point) { return seen_[point].has_value(); };
    while (
        num_closed_ < evaluated_.size() &&
        absl::c_all_of(space_.NeighboursOf(evaluated_[num_closed_]), is_seen)) {
      ++num_closed_;
    }
    return num_closed_ < evaluated_.size() ||
           absl::c_any_of(space_.depths(),
                          [&](const HypertronSpace::Range& depth) {
                            return !is_seen(StartOf(kNothingBehind, depth));
                          });
  }

  // Returns the best point of the depth so far. The plain points were evaluated
  // before, so it is at least as good as the best of them.
  int StartOf(Goal goal, const HypertronSpace::Range& depth) const {
    int best = depth.begin;
    for (int point = depth.begin; point < depth.end; ++point) {
      if (!seen_[point].has_value()) continue;
      if (!seen_[best].has_value() ||
          seen_[point]->energy_s[goal] < seen_[best]->energy_s[goal]) {
        best = point;
      }
    }
    return best;
  }

  // Returns the point's energy, evaluating it at most once. Returns nothing
  // when no steps are left.
  std::optional<double> EnergyOf(int point, Goal goal) {
    if (!seen_[point].has_value()) {
      answer_.truncated |= options_.should_stop && options_.should_stop();
      if (answer_.truncated || answer_.search_steps >= steps_end_) {
        return std::nullopt;
      }
      ++answer_.search_steps;
      seen_[point] = Evaluate(point);
      evaluated_.push_back(point);
    }
    return seen_[point]->energy_s[goal];
  }

  // Energy is the closed form  latency + (B - 1) · slowest + sync,  with a
  // penalty for missing memory.
  Seen Evaluate(int point) {
    Seen seen = {.merits = evaluator_.Evaluate(space_.at(point))};
    seen.bytes_short = evaluator_.BytesShort(options_.trailing_stages);
    const PlanMerits& merits = seen.merits;
    const double time_s =
        ClosedFormSeconds(merits.latency_s, merits.slowest_stage_s,
                          num_microbatches_, merits.most_sync_s);
    for (const Goal goal : kGoals) {
      const int trailing_stages =
          goal == kNothingBehind ? 0 : num_microbatches_;
      const double missing =
          evaluator_.BytesShort(trailing_stages) / capacity_bytes_;
      seen.energy_s[goal] =
          missing > 0 ? time_s * (kDoesNotFit + kPerMemoryMissing * missing)
                      : time_s;
    }
    return seen;
  }

  // Returns the non-dominated plans that bear the query's trailing stages.
  SlicePlanSet Finish() {
    std::vector<int> points;
    std::vector<PlanMerits> merits;
    std::optional<double> least_short;
    for (int point = 0; point < space_.size(); ++point) {
      const std::optional<Seen>& seen = seen_[point];
      if (!seen.has_value()) continue;
      if (seen->merits.max_trailing_stages < options_.trailing_stages) {
        NoteShortage(seen->bytes_short, least_short);
        continue;
      }
      points.push_back(point);
      merits.push_back(seen->merits);
    }
    std::vector<int> kept = NonDominated(merits);
    std::stable_sort(kept.begin(), kept.end(), [&merits](int a, int b) {
      return std::tie(merits[a].num_stages, merits[a].slowest_stage_s) <
             std::tie(merits[b].num_stages, merits[b].slowest_stage_s);
    });
    for (const int i : kept) {
      if (evaluator_.ExceedsLimit(merits[i])) continue;
      answer_.plans.push_back(
          evaluator_.PlanOf(space_.at(points[i]), "hypertron"));
    }
    if (!answer_.truncated) {
      answer_.covers_trailing_stages = kUnlimitedTrailingStages;
    }
    ExplainNoPlan([&] { return least_short; }, options_.limit_s, answer_);
    return std::move(answer_);
  }

  const ParallelizeOptions& options_;
  const int num_microbatches_ = 1;
  const double capacity_bytes_ = 0;
  EqualStagesEvaluator evaluator_;
  HypertronSpace space_;
  std::vector<std::optional<Seen>> seen_;  // By point.
  std::vector<int> evaluated_;             // Points, in order.
  size_t num_closed_ = 0;  // The first so many have no other neighbours.
  std::mt19937_64 random_;
  int64_t steps_end_ = 0;
  SlicePlanSet answer_;
};

}  // namespace

SlicePlanSet SearchHypertron(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options) {
  return Search(slice, island, options).Run();
}

}  // namespace tangram
