#include "coordinator/planners/polish/polish_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/status_macros.h"
#include "common/domain/stage_part.h"
#include "coordinator/planners/polish/plan_climber.h"
#include "coordinator/planners/polish/plan_leaps.h"

namespace tangram {
namespace {

// The effort, in stages whose cost is looked up: of the first climb, of the
// climb after each leap, and of all leaps.
constexpr int64_t kMostEstimates = 300'000;
constexpr int64_t kMostAfterLeap = 6'000;
constexpr int64_t kMostLeaping = 400'000;

// A leap to a plan that takes longer by this fraction may end in a faster one.
constexpr double kWorthClimbing = 0.15;

// The fraction that leaps must gain. A plan with unlike degrees is harder to
// run, and fewer frameworks do.
constexpr double kLeastLeap = 0.002;

// The plans from which leaps begin: so many at a time, each of them at most
// this fraction slower than the best.
constexpr size_t kBeam = 3;
constexpr double kWorthLeaping = 0.04;

// The leaps from one plan after which it climbs.
constexpr size_t kMostLeaps = 24;

class Polisher {
 public:
  Polisher(const PlanRequest& request, const PipelineRules& rules, Reach reach,
           PolishedPlan start, PlanObserver& observer)
      : request_(request),
        rules_(rules),
        reach_(reach),
        best_(std::move(start)),
        climber_(request, rules, best_, observer) {}

  absl::StatusOr<PolishedPlan> Run() {
    TANGRAM_ASSIGN_OR_RETURN(best_,
                             climber_.From(std::move(best_), kMostEstimates));
    if (reach_ == Reach::kNear) return std::move(best_);
    most_estimates_ = climber_.num_estimated() + kMostLeaping;
    Keep(best_);
    // Several times, as the way to a faster plan may lead over slower ones.
    while (!beam_.empty()) {
      const std::vector<PolishedPlan> from = std::move(beam_);
      beam_.clear();
      for (const PolishedPlan& plan : from) {
        TANGRAM_RETURN_IF_ERROR(LeapFrom(plan.plan));
      }
      std::erase_if(beam_, [this](const PolishedPlan& plan) {
        return SecondsOf(plan) > SecondsOf(best_) * (1 + kWorthLeaping);
      });
    }
    return std::move(best_);
  }

 private:
  static double SecondsOf(const PolishedPlan& plan) {
    return plan.evaluation.iteration_time_s;
  }

  bool is_spent() const { return climber_.num_estimated() >= most_estimates_; }

  static void Insert(PolishedPlan plan, size_t most,
                     std::vector<PolishedPlan>& fastest) {
    const auto place = absl::c_upper_bound(
        fastest, plan, [](const PolishedPlan& a, const PolishedPlan& b) {
          return SecondsOf(a) < SecondsOf(b);
        });
    fastest.insert(place, std::move(plan));
    if (fastest.size() > most) fastest.pop_back();
  }

  // Plans as fast as one that was seen are likely the same.
  bool IsNew(const PolishedPlan& plan) {
    return seen_s_.insert(SecondsOf(plan)).second;
  }

  // Keeps the plan if it is new.
  void Keep(PolishedPlan plan) {
    if (!tops_s_.insert(SecondsOf(plan)).second) return;
    seen_s_.insert(SecondsOf(plan));
    if (SecondsOf(plan) < SecondsOf(best_) * (1 - kLeastLeap)) best_ = plan;
    Insert(std::move(plan), kBeam, beam_);
  }

  // Climbs after the leaps from `plan` that seem best.
  absl::Status LeapFrom(const PipelinePlan& plan) {
    std::vector<PolishedPlan> landings;
    for (PipelinePlan& leap : LeapsFrom(request_, rules_, plan)) {
      if (is_spent()) break;
      TANGRAM_ASSIGN_OR_RETURN(std::optional<PolishedPlan> landing,
                               climber_.Settle(std::move(leap)));
      if (!landing.has_value() ||
          SecondsOf(*landing) > SecondsOf(best_) * (1 + kWorthClimbing) ||
          !IsNew(*landing)) {
        continue;
      }
      Insert(*std::move(landing), kMostLeaps, landings);
    }
    for (PolishedPlan& landing : landings) {
      if (is_spent()) break;
      TANGRAM_ASSIGN_OR_RETURN(
          PolishedPlan top, climber_.From(std::move(landing), kMostAfterLeap));
      Keep(std::move(top));
    }
    return absl::OkStatus();
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  const Reach reach_;
  PolishedPlan best_;
  PlanClimber climber_;
  std::vector<PolishedPlan> beam_;  // The fastest first.
  std::set<double> seen_s_;         // Times of plans after leaps,
  std::set<double> tops_s_;         // and of those at the end of climbs.
  int64_t most_estimates_ = 0;
};

}  // namespace

absl::StatusOr<PolishedPlan> PolishPlan(const PlanRequest& request,
                                        const PipelineRules& rules, Reach reach,
                                        PolishedPlan start,
                                        PlanObserver& observer) {
  if (start.plan.virtual_stages > 1 || HasMixedStages(start.plan)) return start;
  return Polisher(request, rules, reach, std::move(start), observer).Run();
}

}  // namespace tangram
