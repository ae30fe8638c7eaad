#include "coordinator/planners/polish/polish_plan.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "common/base/status_macros.h"
#include "common/domain/stage_part.h"
#include "coordinator/planners/polish/plan_climber.h"
#include "coordinator/planners/polish/plan_leaps.h"
#include "coordinator/planners/polish/plan_moves.h"
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

// Leaps end after so many rounds that led to no faster plan. Those in chunks go
// on: a leap changes the chunks by one, and many numbers are slower than fewer
// chunks and than more.
constexpr int kMostInVain = 3;

// The leaps from one plan after which it climbs.
constexpr size_t kMostLeaps = 12;

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
           PolishedPlan start, PlanObserver& observer, TaskRunner* tasks)
      : request_(request),
        rules_(rules),
        reach_(reach),
        start_(start),
        observer_(observer),
        tasks_(tasks),
        best_(std::move(start)),
        part_(PartFor(request, best_.plan.num_stages())) {}

  absl::StatusOr<PolishedPlan> Run() {
    climbers_.push_back(NewClimber());
    TANGRAM_ASSIGN_OR_RETURN(
        best_,
        climbers_.back()->From(std::move(best_), Effort(kMostEstimates)));
    if (reach_ == Reach::kNear) return std::move(best_);
    most_estimates_ = num_estimated_ + Effort(kMostLeaping);
    Keep(best_);
    if (reach_ == Reach::kNearAndSchedules) beam_.clear();
    TANGRAM_RETURN_IF_ERROR(LeapOn());
    if (reach_ >= Reach::kSchedules) TANGRAM_RETURN_IF_ERROR(TrySchedules());
    return std::move(best_);
  }

 private:
  static double SecondsOf(const PolishedPlan& plan) {
    return plan.evaluation.iteration_time_s;
  }

  int64_t Effort(int64_t most) const {
    return static_cast<int64_t>(part_ * static_cast<double>(most));
  }

  bool is_spent() const { return num_estimated_ >= most_estimates_; }

  std::unique_ptr<PlanClimber> NewClimber() const {
    return std::make_unique<PlanClimber>(request_, rules_, start_, observer_);
  }

  using Climb = absl::FunctionRef<absl::StatusOr<std::optional<PolishedPlan>>(
      PlanClimber&, int)>;
  using TakePlan = absl::FunctionRef<void(PolishedPlan)>;

  // One climb. Climbers only differ in what they remember, so the plan and the
  // stages that it looks up do not depend on the climber.
  class Climbing : public OrderedTask {
   public:
    Climbing(Polisher& polisher, int number, Climb climb, TakePlan take)
        : polisher_(polisher), number_(number), climb_(climb), take_(take) {
      std::vector<std::unique_ptr<PlanClimber>>& climbers = polisher.climbers_;
      if (climbers.empty()) climbers.push_back(polisher.NewClimber());
      climber_ = std::move(climbers.back());
      climbers.pop_back();
    }
    ~Climbing() override { polisher_.climbers_.push_back(std::move(climber_)); }

    void Work(const TaskTurn& turn) override {
      if (turn.IsNext() && polisher_.is_spent()) return;
      const int64_t before = climber_->num_estimated();
      plan_ = climb_(*climber_, number_);
      num_estimated_ = climber_->num_estimated() - before;
    }

    absl::Status Take() override {
      if (polisher_.is_spent()) return absl::OkStatus();
      TANGRAM_RETURN_IF_ERROR(plan_.status());
      polisher_.num_estimated_ += num_estimated_;
      if (plan_->has_value()) take_(**std::move(plan_));
      return absl::OkStatus();
    }

   private:
    Polisher& polisher_;
    const int number_;
    const Climb climb_;
    const TakePlan take_;
    std::unique_ptr<PlanClimber> climber_;
    absl::StatusOr<std::optional<PolishedPlan>> plan_ = std::nullopt;
    int64_t num_estimated_ = 0;
  };

  // Runs so many climbs and takes their plans in order, until the effort is
  // spent.
  absl::Status ClimbAll(size_t count, Climb climb, TakePlan take) {
    return RunTasks(tasks_, static_cast<int>(count), [&](int i) {
      return std::make_unique<Climbing>(*this, i, climb, take);
    });
  }

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

  // Leaps from the plans of the beam, several times, as the way to a faster
  // plan may lead over slower ones.
  absl::Status LeapOn() {
    int in_vain = 0;
    while (!beam_.empty() &&
           (in_vain < kMostInVain || best_.plan.virtual_stages > 1)) {
      const double before_s = SecondsOf(best_);
      const std::vector<PolishedPlan> from = std::move(beam_);
      beam_.clear();
      for (const PolishedPlan& plan : from) {
        TANGRAM_RETURN_IF_ERROR(LeapFrom(plan.plan));
      }
      in_vain = SecondsOf(best_) < before_s ? 0 : in_vain + 1;
      DropSlow(kWorthLeaping, beam_);
    }
    return absl::OkStatus();
  }

  // Climbs after the leaps from `plan` that seem best. Climbs in chunks bring
  // less, and take longer.
  absl::Status LeapFrom(const PipelinePlan& plan) {
    const bool in_chunks = plan.virtual_stages > 1;
    std::vector<PolishedPlan> landings;
    TANGRAM_RETURN_IF_ERROR(
        Land(LeapsFrom(request_, rules_, plan), PlanClimber::Effort::kFull,
             in_chunks ? kWorthScheduling : kWorthClimbing,
             in_chunks ? kMostScheduled : kMostLeaps, landings));
    return ClimbFrom(landings, kMostAfterLeap);
  }

  // Climbs from the fastest plans under other schedules, and after leaps from
  // the best of them.
  absl::Status TrySchedules() {
    const double one_f_one_b_s = SecondsOf(best_);
    most_estimates_ = num_estimated_ + Effort(kMostScheduling);
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
    std::vector<PolishedPlan> top = {beam_.front()};
    TANGRAM_RETURN_IF_ERROR(ClimbFrom(top, kMostOfBestSchedule));
    if (SecondsOf(best_) == one_f_one_b_s) return absl::OkStatus();
    // Leaps under 1F1B have led here. Those in chunks only begin.
    TANGRAM_RETURN_IF_ERROR(best_.plan.virtual_stages > 1
                                ? LeapOn()
                                : LeapFrom(PipelinePlan(best_.plan)));
    if (best_.plan.num_stages() > 1) best_.one_f_one_b_s = one_f_one_b_s;
    return absl::OkStatus();
  }

  // Settles a plan. If it then takes longer than `most_s`, it may be for a
  // stage that lacks memory, and its layers are spread again.
  absl::StatusOr<std::optional<PolishedPlan>> Settle(PlanClimber& climber,
                                                     PlanClimber::Effort effort,
                                                     double most_s,
                                                     PipelinePlan plan) const {
    TANGRAM_ASSIGN_OR_RETURN(std::optional<PolishedPlan> settled,
                             climber.Settle(std::move(plan), effort));
    if (!settled.has_value() || SecondsOf(*settled) <= most_s ||
        settled->plan.virtual_stages > 1 ||
        !request_.constraints.pins.empty()) {
      return settled;
    }
    std::optional<PipelinePlan> even =
        EvenChunks(request_.model, FinestCuts(rules_), /*chunks=*/1,
                   settled->plan, settled->evaluation);
    if (!even.has_value() || *even == settled->plan) return settled;
    TANGRAM_ASSIGN_OR_RETURN(std::optional<PolishedPlan> spread,
                             climber.Settle(*std::move(even), effort));
    const bool is_faster =
        spread.has_value() && SecondsOf(*spread) < SecondsOf(*settled);
    return is_faster ? std::move(spread) : std::move(settled);
  }

  // Adds those of `plans`, once settled, that take at most this fraction longer
  // than the best, up to so many.
  absl::Status Land(std::vector<PipelinePlan> plans, PlanClimber::Effort effort,
                    double slack, size_t most,
                    std::vector<PolishedPlan>& landings) {
    const double most_s = SecondsOf(best_) * (1 + slack);
    return ClimbAll(
        plans.size(),
        [&](PlanClimber& climber, int i) {
          return Settle(climber, effort, most_s, std::move(plans[i]));
        },
        [&](PolishedPlan landing) {
          if (SecondsOf(landing) > most_s || !IsNew(landing)) {
            return;
          }
          Insert(std::move(landing), most, landings);
        });
  }

  absl::Status ClimbFrom(std::vector<PolishedPlan>& landings,
                         int64_t most_estimates) {
    return ClimbAll(
        landings.size(),
        [&](PlanClimber& climber, int i) {
          return climber.From(std::move(landings[i]), Effort(most_estimates));
        },
        [&](PolishedPlan top) { Keep(std::move(top)); });
  }

  const PlanRequest& request_;
  const PipelineRules& rules_;
  const Reach reach_;
  const PolishedPlan start_;
  PlanObserver& observer_;
  TaskRunner* const tasks_;
  PolishedPlan best_;
  const double part_;  // The share of the effort that is spent.
  // Those that climb nowhere.
  std::vector<std::unique_ptr<PlanClimber>> climbers_;
  std::vector<PolishedPlan> beam_;     // The fastest first.
  std::vector<PolishedPlan> fastest_;  // All that were kept, likewise.
  std::set<double> seen_s_;            // Times of plans after leaps,
  std::set<double> tops_s_;            // and of those at the end of climbs.
  int64_t num_estimated_ = 0;          // Since the first climb.
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
                                        PlanObserver& observer,
                                        TaskRunner* tasks) {
  if (HasMixedStages(start.plan)) return start;
  if (DemandedSchedule(request.constraints).has_value()) {
    reach = std::min(reach, Reach::kFar);  // The plan has it.
  } else if (start.plan.virtual_stages > 1) {
    return start;
  }
  return Polisher(request, rules, reach, std::move(start), observer, tasks)
      .Run();
}

}  // namespace tangram
