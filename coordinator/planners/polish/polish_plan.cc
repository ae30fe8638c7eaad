#include "coordinator/planners/polish/polish_plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/status_macros.h"
#include "common/domain/stage_part.h"
#include "coordinator/planners/polish/plan_climber.h"
#include "coordinator/planners/polish/plan_leaps.h"
#include "coordinator/planners/polish/plan_schedules.h"

namespace tangram {
namespace {

// The effort, in stages whose cost is looked up: of the first climb, of the
// climb after each leap, and of all leaps. Small problems get a part of it
// (PartFor).
constexpr int64_t kFullStages = 16;
constexpr int64_t kMostEstimates = 300'000;
constexpr int64_t kMostAfterLeap = 6'000;
constexpr int64_t kMostLeaping = 400'000;

// A leap to a plan that takes longer by this fraction may end in a faster one.
constexpr double kWorthClimbing = 0.15;

// The fraction that leaps must gain. A plan with unlike degrees is harder to
// run, and fewer frameworks do.
constexpr double kLeastLeap = 0.002;

// The effort of other schedules, of each climb under one, and of the climb from
// the best of these tops, if it is worth it. A climb that also changes warm-up
// passes is long.
constexpr int64_t kMostScheduling = 600'000;
constexpr int64_t kMostUnderSchedule = 100'000;
constexpr int64_t kMostOfBestSchedule = 300'000;
constexpr double kWorthClimbingOn = 0.01;

// The plans that are tried under other schedules, those under each of them from
// which to climb, and how much longer these may take than the best before.
constexpr size_t kMostScheduled = 8;
constexpr size_t kMostOfSchedule = 4;
constexpr double kWorthScheduling = 0.06;

// The plans from which leaps begin: so many at a time, each of them at most
// this fraction slower than the best.
constexpr size_t kBeam = 3;
constexpr double kWorthLeaping = 0.04;

// The leaps from one plan after which it climbs.
constexpr size_t kMostLeaps = 24;

// Returns the part of the effort that a plan gets. In small problems, more
// plans are polished, and each has fewer changes: one looks up n stages, so n /
// kFullStages are as many changes as of a plan of kFullStages. Plans of few
// stages have fewer, in proportion to n.
double PartFor(const PlanRequest& request, int num_stages) {
  constexpr double kFewStages = kFullStages / 2;
  const double n = num_stages;
  if (n >= kFullStages || !IsSmallProblem(request.cluster->num_gpus(),
                                          request.model.num_layers())) {
    return 1;
  }
  return n / kFullStages * std::min(1.0, n / kFewStages);
}

class Polisher {
 public:
  Polisher(const PlanRequest& request, const PipelineRules& rules, Reach reach,
           PolishedPlan start, PlanObserver& observer)
      : request_(request),
        rules_(rules),
        reach_(reach),
        best_(std::move(start)),
        part_(PartFor(request, best_.plan.num_stages())),
        climber_(request, rules, best_, observer) {}

  absl::StatusOr<PolishedPlan> Run() {
    TANGRAM_ASSIGN_OR_RETURN(
        best_, climber_.From(std::move(best_), Effort(kMostEstimates)));
    if (reach_ == Reach::kNear) return std::move(best_);
    most_estimates_ = climber_.num_estimated() + Effort(kMostLeaping);
    Keep(best_);
    // Several times, as the way to a faster plan may lead over slower ones.
    while (!beam_.empty()) {
      const std::vector<PolishedPlan> from = std::move(beam_);
      beam_.clear();
      for (const PolishedPlan& plan : from) {
        TANGRAM_RETURN_IF_ERROR(LeapFrom(plan.plan));
      }
      DropSlow(kWorthLeaping, beam_);
    }
    if (reach_ == Reach::kSchedules) TANGRAM_RETURN_IF_ERROR(TrySchedules());
    return std::move(best_);
  }

 private:
  static double SecondsOf(const PolishedPlan& plan) {
    return plan.evaluation.iteration_time_s;
  }

  int64_t Effort(int64_t most) const {
    return static_cast<int64_t>(part_ * static_cast<double>(most));
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

  void DropSlow(double slack, std::vector<PolishedPlan>& plans) const {
    std::erase_if(plans, [&](const PolishedPlan& plan) {
      return SecondsOf(plan) > SecondsOf(best_) * (1 + slack);
    });
  }

  // Keeps the plan if it is new.
  void Keep(PolishedPlan plan) {
    if (!tops_s_.insert(SecondsOf(plan)).second) return;
    seen_s_.insert(SecondsOf(plan));
    if (SecondsOf(plan) < SecondsOf(best_) * (1 - kLeastLeap)) best_ = plan;
    Insert(plan, kMostScheduled, fastest_);
    Insert(std::move(plan), kBeam, beam_);
  }

  // Climbs after the leaps from `plan` that seem best.
  absl::Status LeapFrom(const PipelinePlan& plan) {
    std::vector<PolishedPlan> landings;
    TANGRAM_RETURN_IF_ERROR(Land(LeapsFrom(request_, rules_, plan),
                                 PlanClimber::Effort::kFull, kWorthClimbing,
                                 kMostLeaps, landings));
    return ClimbFrom(landings, kMostAfterLeap);
  }

  // Climbs from the fastest plans under other schedules, and after leaps from
  // the best of them.
  absl::Status TrySchedules() {
    const double one_f_one_b_s = SecondsOf(best_);
    most_estimates_ = climber_.num_estimated() + Effort(kMostScheduling);
    DropSlow(kWorthLeaping, fastest_);
    std::map<PipelineSchedule, std::vector<PolishedPlan>> landings;
    for (const PolishedPlan& plan : fastest_) {
      for (PipelinePlan& other : OtherSchedules(request_, rules_, plan.plan,
                                                plan.evaluation, kLeastLeap)) {
        // More warm-up passes have room if hosts keep more.
        const auto effort = other.warm_up_passes.empty()
                                ? PlanClimber::Effort::kHasty
                                : PlanClimber::Effort::kFull;
        std::vector<PolishedPlan>& same = landings[other.schedule];
        TANGRAM_RETURN_IF_ERROR(Land({std::move(other)}, effort,
                                     kWorthScheduling, kMostOfSchedule, same));
      }
    }
    beam_.clear();
    for (auto& [schedule, plans] : landings) {
      TANGRAM_RETURN_IF_ERROR(ClimbFrom(plans, kMostUnderSchedule));
    }
    DropSlow(kWorthClimbingOn, beam_);
    if (beam_.empty()) return absl::OkStatus();
    beam_.resize(1);
    TANGRAM_RETURN_IF_ERROR(ClimbFrom(beam_, kMostOfBestSchedule));
    if (SecondsOf(best_) == one_f_one_b_s) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(LeapFrom(PipelinePlan(best_.plan)));
    best_.one_f_one_b_s = one_f_one_b_s;
    return absl::OkStatus();
  }

  // Adds those of `plans`, once settled, that take at most this fraction longer
  // than the best, up to so many.
  absl::Status Land(std::vector<PipelinePlan> plans, PlanClimber::Effort effort,
                    double slack, size_t most,
                    std::vector<PolishedPlan>& landings) {
    for (PipelinePlan& plan : plans) {
      if (is_spent()) break;
      TANGRAM_ASSIGN_OR_RETURN(std::optional<PolishedPlan> landing,
                               climber_.Settle(std::move(plan), effort));
      if (!landing.has_value() ||
          SecondsOf(*landing) > SecondsOf(best_) * (1 + slack) ||
          !IsNew(*landing)) {
        continue;
      }
      Insert(*std::move(landing), most, landings);
    }
    return absl::OkStatus();
  }

  absl::Status ClimbFrom(std::vector<PolishedPlan>& landings,
                         int64_t most_estimates) {
    for (PolishedPlan& landing : landings) {
      if (is_spent()) break;
      TANGRAM_ASSIGN_OR_RETURN(
          PolishedPlan top,
          climber_.From(std::move(landing), Effort(most_estimates)));
      Keep(std::move(top));
    }
    return absl::OkStatus();
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  const Reach reach_;
  PolishedPlan best_;
  const double part_;  // The share of the effort that is spent.
  PlanClimber climber_;
  std::vector<PolishedPlan> beam_;     // The fastest first.
  std::vector<PolishedPlan> fastest_;  // All that were kept, likewise.
  std::set<double> seen_s_;            // Times of plans after leaps,
  std::set<double> tops_s_;            // and of those at the end of climbs.
  int64_t most_estimates_ = 0;
};

}  // namespace

bool IsSmallProblem(int num_gpus, int num_layers) {
  constexpr int kSmall = 200;
  return int64_t{num_gpus} * num_layers <= kSmall;
}

absl::StatusOr<PolishedPlan> PolishPlan(const PlanRequest& request,
                                        const PipelineRules& rules, Reach reach,
                                        PolishedPlan start,
                                        PlanObserver& observer) {
  if (HasMixedStages(start.plan)) return start;
  if (DemandedSchedule(request.constraints).has_value()) {
    // The plan has it, and leaps are between plans of one chunk a device.
    reach = start.plan.virtual_stages > 1 ? Reach::kNear
                                          : std::min(reach, Reach::kFar);
  } else if (start.plan.virtual_stages > 1) {
    return start;
  }
  return Polisher(request, rules, reach, std::move(start), observer).Run();
}

}  // namespace tangram
