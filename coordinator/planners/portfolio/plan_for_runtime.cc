#include "coordinator/planners/portfolio/plan_for_runtime.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/base/ordered_tasks.h"
#include "common/base/status_macros.h"
#include "common/planner/keep_closest.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/polish/polish_result.h"
#include "coordinator/planners/portfolio/combine_results.h"
#include "coordinator/planners/portfolio/judged_choice.h"
#include "coordinator/planners/portfolio/mixable_members.h"
#include "coordinator/planners/portfolio/mixed_source.h"
#include "coordinator/planners/portfolio/runtime_attempts.h"
#include "coordinator/planners/portfolio/runtime_notes.h"
#include "coordinator/planners/portfolio/turn_observer.h"
#include "coordinator/planners/portfolio/whole_search.h"

namespace tangram {
namespace {

// The most plans that are polished for one runtime.
constexpr size_t kMostPolished = 4;

// The seeds of an attempt may make a plan that takes longer than that of the
// best seeds by this fraction, and all slice plans the best one. On many GPUs,
// searches take long and polishing evens out more.
constexpr double kWorthSearching = 0.02;
constexpr double kWorthSearchingOnMany = 0.005;

// The chunks for which pipelines are ranked. Those that are judged may have
// others.
constexpr int kChunks = 2;

// Polishing brings a plan in chunks so much more than one of 1F1B, as the
// borders of its chunks are not searched before.
constexpr double kChunksBring = 0.1;

// Plans in chunks that are so much slower than the best may overtake it.
constexpr double kAsGoodInChunks = 0.01;

// The most stages on an island of pipelines that are ranked so.
constexpr int kDeepest = 16;

// Pipelines over slow links are this much faster under GPipe than under 1F1B.
constexpr double kFasterByGpipe = 1.25;

}  // namespace

class RuntimeSearch::Parts {
 public:
  Parts(const PlanningRuntime& runtime, const PlannerChoice& choice,
        const PlanRequest& request, PlanObserver& observer)
      : runtime_(runtime),
        choice_(choice),
        asked_request_(request),
        request_(request),
        observer_(observer) {
    request_.training = runtime.Train(request.training);
  }

  // Lets the scout try first, and moves forward what it found good plans for.
  // A good plan limits all later searches.
  absl::Status Scout(SlicePlanSource& scout, double incumbent_s) {
    TANGRAM_RETURN_IF_ERROR(Begin(scout));
    if (!refusal_.ok() || !scout.SliceModel(request_.model).ok()) {
      return absl::OkStatus();
    }
    is_scouted_ = true;
    std::vector<Attempt*> order;
    for (Attempt& attempt : attempts_) order.push_back(&attempt);
    // Values of degrees ascend. Plans of large ones are found in less time and
    // limit the searches for others.
    if (FixSomeDegrees(variants_)) absl::c_reverse(order);
    absl::c_stable_sort(order, [](const Attempt* a, const Attempt* b) {
      return a->chunks < b->chunks;
    });
    const auto rules_of = [&](const Attempt& attempt) {
      PipelineRules rules = RulesOf(attempt);
      rules.persists = false;
      const double slack =
          attempt.chunks > 1 ? 1 + kChunksBring : ScheduleSlack();
      rules.incumbent_s =
          std::min(rules.incumbent_s * slack,
                   incumbent_s * std::max(slack, ClosedFormExcess()));
      return rules;
    };
    const auto take = [&](Attempt& attempt, PlanResult result) {
      if (!result.plan.has_value()) return;
      attempt.scouted_s = result.evaluation.iteration_time_s;
      Keep(attempt, std::move(result));
    };
    TANGRAM_RETURN_IF_ERROR(
        TryInOrder(order, rules_of, scout, choice_.search.tasks, take));
    absl::c_stable_sort(attempts_, [](const Attempt& a, const Attempt& b) {
      return a.scouted_s < b.scouted_s;
    });
    return absl::OkStatus();
  }

  bool fixes_degrees() const {
    return absl::c_all_of(variants_, FixesDegreesOfStages);
  }

  double members_brought() const { return members_brought_; }

  double scouted_s() const {
    return HasPlan() ? best().evaluation.iteration_time_s : kInfinity;
  }

  absl::Status Begin(SlicePlanSource& source) {
    if (has_begun_) return absl::OkStatus();
    has_begun_ = true;
    TANGRAM_ASSIGN_OR_RETURN(
        islands_, choice_.Create(source, {})->Islands(request_, observer_));
    refusal_ = CheckRuntime(runtime_, request_);
    if (!refusal_.ok()) return absl::OkStatus();
    libraries_ = LibrariesOf(request_.cluster);
    variants_ = VariantsOf(runtime_, request_, islands_);
    attempts_ = AttemptsOf(libraries_, variants_, RunsInChunks() ? kChunks : 1);
    in_chunks_ = InChunks(request_);
    return absl::OkStatus();
  }

  // Returns whether pipelines in chunks have searches of their own. On many
  // GPUs, these would take too long.
  bool RunsInChunks() const {
    return MayRunInChunks(runtime_.runs(), request_) &&
           choice_.search.schedules && choice_.search.polishes_far &&
           HasFewGpus(request_);
  }

  const PlanRequest& RequestOf(int chunks) const {
    return chunks > 1 ? in_chunks_ : request_;
  }

  absl::StatusOr<PlanResult> Finish(const RuntimeMembers& asked) {
    if (!asked.members.empty()) {
      TANGRAM_RETURN_IF_ERROR(Begin(*asked.members.front().source));
    }
    TANGRAM_ASSIGN_OR_RETURN(PlanResult result, Search(asked));
    NoteLosses(runtime_, asked_request_, request_, result);
    return result;
  }

 private:
  absl::StatusOr<PlanResult> Search(const RuntimeMembers& asked) {
    if (!refusal_.ok()) {
      return PlanResult{
          .islands = std::move(islands_),
          .infeasible = Infeasible{.reason = absl::StrCat(runtime_.name(), ": ",
                                                          refusal_.message())}};
    }
    if (asked.members.empty() && kept_.empty()) {
      return PlanResult{
          .islands = std::move(islands_),
          .infeasible = Infeasible{
              .reason = absl::StrCat(runtime_.name(), ": no plan was found")}};
    }
    incumbent_s_ = asked.incumbent_s * ClosedFormExcess();
    most_scouted_s_ = std::max(incumbent_s_, asked.most_scouted_s);
    std::vector<std::string> left_out;
    if (!asked.members.empty()) {
      TANGRAM_ASSIGN_OR_RETURN(const MixableMembers mixable,
                               Mixable(asked.members, request_.model));
      left_out = mixable.left_out();
      AddLimits(left_out, limits_);
      TANGRAM_RETURN_IF_ERROR(TryAll(mixable));
    }
    TANGRAM_ASSIGN_OR_RETURN(PlanResult result, Polished(asked));
    TANGRAM_RETURN_IF_ERROR(TryWhole(asked, result));
    result.stats = stats_;
    result.lower_bound_s = lower_bound_s_;
    result.certificate = scope_;
    if (!result.plan.has_value()) {
      result.infeasible = std::move(closest_);
      result.limits = std::move(limits_);
    }
    AddLimits(left_out, result.notes);
    result.notes.push_back(
        absl::StrCat("runtime ", runtime_.name(), ": ", variants_.size(),
                     variants_.size() == 1 ? " search"
                                           : " searches, one for each value "
                                             "of what its stages share"));
    NoteLibraries(runtime_, libraries_, result);
    return result;
  }

  using Attempt = RuntimeAttempt;

  // Returns by how much the closed form of a plan may exceed its judged time:
  // as much as that of the scout's plan does, whose stages are as deep and
  // which the runtime changed likewise.
  double ClosedFormExcess() const {
    if (!HasPlan()) return 1;
    return std::max(1.0,
                    best().closed_form_s / best().evaluation.iteration_time_s);
  }

  // Returns by which factor a plan may take longer under 1F1B, under which it
  // is composed, than under the schedules that the runtime runs. On many GPUs,
  // scouts would take too long.
  double ScheduleSlack() const {
    return runtime_.runs().gpipe && HasFewGpus(request_) ? kFasterByGpipe : 1;
  }

  absl::Status TryAll(const MixableMembers& mixable) {
    std::vector<SlicePlanSource*> sources;
    for (const PortfolioMember& member : mixable.members()) {
      sources.push_back(member.source);
    }
    const auto source = CreateMixedSource(sources, choice_.search.tasks);
    TANGRAM_RETURN_IF_ERROR(TrySeeds(*source));
    std::vector<Attempt*> worth_it;
    for (Attempt& attempt : attempts_) {
      if (IsWorthSearching(attempt)) worth_it.push_back(&attempt);
    }
    // Until the first result, those that have only seeds are kept in order.
    auto next = attempts_.begin();
    const auto pass_until = [&](const Attempt* searched) {
      for (; next != attempts_.end() && &*next != searched; ++next) {
        if (IsWorthSearching(*next)) continue;
        KeepClosest(next->why_no_seeds, closest_);
        if (kept_.empty()) Keep(*next, {.infeasible = next->why_no_seeds});
      }
    };
    const auto take = [&](Attempt& attempt, PlanResult result) {
      pass_until(&attempt);
      KeepLeastBound(result, lower_bound_s_);
      KeepClosest(result.infeasible, closest_);
      AddLimits(result.limits, limits_);
      Keep(attempt, std::move(result));
    };
    TANGRAM_RETURN_IF_ERROR(TryInOrder(
        worth_it, [&](const Attempt& a) { return RulesOf(a); }, *source,
        RunsAhead(), take));
    pass_until(nullptr);
    return absl::OkStatus();
  }

  // Tries the seeds of each attempt, a few slice plans. Their best plan
  // limits the searches, and says with which attempts these begin.
  absl::Status TrySeeds(SlicePlanSource& source) {
    for (const Attempt& attempt : attempts_) {
      if (attempt.chunks > 1) continue;
      scouted_s_ = std::min(scouted_s_, attempt.scouted_s);
    }
    std::vector<Attempt*> worth_it;
    for (Attempt& attempt : attempts_) {
      if (IsWorthSeeding(attempt)) worth_it.push_back(&attempt);
    }
    const auto rules_of = [&](const Attempt& attempt) {
      PipelineRules rules = RulesOf(attempt);
      rules.effort = PipelineRules::Effort::kSeeds;
      rules.persists = false;
      rules.incumbent_s *= ScheduleSlack();
      return rules;
    };
    const auto take = [&](Attempt& attempt, PlanResult result) {
      attempt.has_seed_plans = result.stats.slice_plans > 0;
      if (!result.plan.has_value()) {
        attempt.why_no_seeds = std::move(result.infeasible);
        return;
      }
      attempt.seeded_s = result.evaluation.iteration_time_s;
      Keep(attempt, std::move(result), /*is_seeded=*/true);
    };
    TANGRAM_RETURN_IF_ERROR(
        TryInOrder(worth_it, rules_of, source, RunsAhead(), take));
    absl::c_stable_sort(attempts_, [](const Attempt& a, const Attempt& b) {
      return a.seeded_s < b.seeded_s;
    });
    return absl::OkStatus();
  }

  // Polishing makes the scout's plans in chunks as fast as those of others.
  bool IsOnlyForScout(const Attempt& attempt) const {
    return attempt.chunks > 1 && is_scouted_;
  }

  // On many GPUs, a later framework needs a plan of the scout, which leaves out
  // attempts that are slow.
  bool IsWorthSeeding(const Attempt& attempt) const {
    if (IsOnlyForScout(attempt)) return false;
    return incumbent_s_ == kInfinity || scouted_s_ == kInfinity ||
           attempt.scouted_s < kInfinity || HasFewGpus(request_);
  }

  // Returns whether the members are asked for all slice plans of the attempt.
  // They are if its seeds made a plan nearly as fast as those of the best
  // attempt. Where seeds tell little, as their plans are no faster than the
  // scout's or none fits, any slice plan of a seed is enough for the first
  // framework.
  bool IsWorthSearching(const Attempt& attempt) const {
    if (IsOnlyForScout(attempt)) return false;
    const double least_s = attempts_.front().seeded_s;
    if (attempt.seeded_s < kInfinity) {
      const double slack =
          HasFewGpus(request_) ? kWorthSearching : kWorthSearchingOnMany;
      return attempt.seeded_s <= least_s * (1 + slack);
    }
    if (incumbent_s_ == kInfinity) {
      return !(least_s < scouted_s_) &&
             (attempt.has_seed_plans || scouted_s_ == kInfinity);
    }
    return least_s == kInfinity && HasFewGpus(request_) &&
           (scouted_s_ <= most_scouted_s_ || scouted_s_ == kInfinity);
  }

  // Returns why a plan over `library` cannot use such GPUs; empty if it can.
  std::string WhyNotDevice(const DeviceSpec& device,
                           std::optional<CollectiveLibrary> library) const {
    if (library.has_value() && device.collective_library != *library) {
      return absl::StrCat("a launch over ", CollectiveLibraryName(*library),
                          " has no GPUs of ",
                          CollectiveLibraryName(device.collective_library));
    }
    return runtime_.WhyNotDevice(device);
  }

  // Returns the rules of a search for a plan that is faster than the best so
  // far.
  PipelineRules RulesOf(const Attempt& attempt) const {
    PipelineRules rules{
        .runtime = &runtime_.runs(),
        .stages = attempt.variant.stages,
        .ends = attempt.variant.ends,
        .gpus_per_node = attempt.variant.gpus_per_node,
        .why_not_device =
            [this, library = attempt.library](const DeviceSpec& device) {
              return WhyNotDevice(device, library);
            },
        .fit =
            [this](const PlanRequest& request, const PipelinePlan& plan) {
              return runtime_.Fit(request, plan);
            },
        .accepts_gpus = runtime_.AcceptsGpus(),
        .incumbent_s = incumbent_s_,
        .chunks = attempt.chunks};
    // Deep pipelines pay in chunks alone, also if they leave GPUs idle.
    if (attempt.chunks > 1) {
      rules.stages.each_depth = true;
      rules.stages.max_stages = kDeepest;
    }
    if (HasPlan()) {
      // Fit changes plans, so the plan that runs may be slower than composed.
      rules.incumbent_s = std::min(
          rules.incumbent_s,
          std::max(best().closed_form_s, best().evaluation.iteration_time_s));
    }
    return rules;
  }

  using RulesOfAttempt = absl::FunctionRef<PipelineRules(const Attempt&)>;
  using TakeResult = absl::FunctionRef<void(Attempt&, PlanResult)>;

  // The search of one attempt, for plans up to those that were known when it
  // began.
  class Trial : public OrderedTask {
   public:
    Trial(Parts& parts, Attempt& attempt, RulesOfAttempt rules_of,
          SlicePlanSource& source, TakeResult take)
        : parts_(parts),
          attempt_(attempt),
          rules_of_(rules_of),
          source_(source),
          take_(take),
          rules_(rules_of(attempt)) {}

    void Work(const TaskTurn& turn) override {
      TurnObserver observer(turn, parts_.observer_);
      result_ = CreateJudgedPlanner(parts_.choice_, source_, rules_)
                    ->Plan(parts_.RequestOf(attempt_.chunks), observer);
    }

    bool IsStale() const override {
      return rules_of_(attempt_).incumbent_s != rules_.incumbent_s;
    }

    absl::Status Take() override {
      TANGRAM_RETURN_IF_ERROR(result_.status());
      AddStats(result_->stats, parts_.stats_);
      if (attempt_.chunks == 1) Widen(*result_, parts_.scope_);
      take_(attempt_, *std::move(result_));
      return absl::OkStatus();
    }

   private:
    Parts& parts_;
    Attempt& attempt_;
    const RulesOfAttempt rules_of_;
    SlicePlanSource& source_;
    const TakeResult take_;
    const PipelineRules rules_;
    absl::StatusOr<PlanResult> result_;
  };

  // Searches for a plan with each attempt, and takes the results in order.
  absl::Status TryInOrder(absl::Span<Attempt* const> attempts,
                          RulesOfAttempt rules_of, SlicePlanSource& source,
                          TaskRunner* tasks, TakeResult take) {
    return RunTasks(tasks, static_cast<int>(attempts.size()), [&](int i) {
      return std::make_unique<Trial>(*this, *attempts[i], rules_of, source,
                                     take);
    });
  }

  // Returns what runs searches of members that may begin before their turn. On
  // many GPUs, each question has work for all threads, and the first searches
  // bring faster plans, so that others would begin in vain.
  TaskRunner* RunsAhead() const {
    return HasFewGpus(request_) ? choice_.search.tasks : nullptr;
  }

  // A result and the rules of the search that found it.
  struct Kept {
    PipelineRules rules;
    PlanResult result;
    int attempt = 0;
    bool is_seeded = false;
  };

  // Keeps the best result, and those that polishing may make the best. The
  // result of a whole search replaces that of its seeds.
  void Keep(const Attempt& attempt, PlanResult result, bool is_seeded = false) {
    if (result.plan.has_value()) {
      if (attempt.chunks == 1 && scouted_s_ < kInfinity) {
        members_brought_ = std::max(
            members_brought_, scouted_s_ / result.evaluation.iteration_time_s);
      }
      std::erase_if(kept_, [&](const Kept& kept) {
        return kept.is_seeded && kept.attempt == attempt.number &&
               IsBetter(result, kept.result);
      });
    }
    const auto place = absl::c_upper_bound(
        kept_, result, [](const PlanResult& added, const Kept& other) {
          return IsBetter(added, other.result);
        });
    kept_.insert(place, {RulesOf(attempt), std::move(result), attempt.number,
                         is_seeded});
    while (kept_.size() > 1 && !IsWorthKeeping(kept_.back().result)) {
      kept_.pop_back();
    }
    if (kept_.size() > kMostPolished) kept_.resize(kMostPolished);
  }

  bool IsWorthKeeping(const PlanResult& result) const {
    return result.plan.has_value() &&
           result.evaluation.iteration_time_s <=
               best().evaluation.iteration_time_s * (1 + kWorthPolishing);
  }

  bool HasPlan() const { return !kept_.empty() && best().plan.has_value(); }
  const PlanResult& best() const { return kept_.front().result; }

  // Returns the best of the results after polishing those that are worth it,
  // and the best of 1F1B by large changes, which may lead to chunks too.
  absl::StatusOr<PlanResult> Polished(const RuntimeMembers& asked) {
    const auto is_worth_it = [&](const Kept& kept) {
      return choice_.search.polish &&
             kept.result.evaluation.iteration_time_s <= asked.worth_polishing_s;
    };
    Kept* best = &kept_.front();
    Kept* plain = nullptr;
    double most_s = kInfinity;  // Slower plans in chunks are not polished.
    for (Kept& kept : kept_) {
      const double seconds = kept.result.evaluation.iteration_time_s;
      const bool in_chunks = kept.rules.chunks > 1;
      if (in_chunks) most_s = std::min(most_s, seconds * (1 + kAsGoodInChunks));
      if (is_worth_it(kept) && !(in_chunks && seconds > most_s))
        TANGRAM_RETURN_IF_ERROR(Polish(Reach::kNear, kept));
      if (IsBetter(kept.result, best->result)) best = &kept;
      if (!in_chunks &&
          (plain == nullptr || IsBetter(kept.result, plain->result)))
        plain = &kept;
    }
    if (plain != nullptr && is_worth_it(*plain) &&
        plain->result.evaluation.iteration_time_s <= asked.worth_leaping_s) {
      TANGRAM_RETURN_IF_ERROR(Polish(FurthestReach(choice_), *plain));
      if (IsBetter(plain->result, best->result)) best = plain;
    }
    return std::move(best->result);
  }

  // Searches whole plans with each library, by the rules of all attempts.
  absl::Status TryWhole(const RuntimeMembers& asked, PlanResult& result) {
    if (!IsSearchedWhole(choice_, request_, result)) return absl::OkStatus();
    for (const std::optional<CollectiveLibrary>& library : libraries_) {
      WholeSearch search{.limit_s = asked.incumbent_s,
                         .worth_annealing_s = asked.worth_polishing_s};
      for (const Attempt& attempt : attempts_) {
        if (attempt.library != library || attempt.chunks > 1) continue;
        search.variants.push_back(RulesOf(attempt));
      }
      search.rules = WithoutShared(search.variants.front());
      TANGRAM_RETURN_IF_ERROR(
          SearchWhole(choice_, request_, search, observer_, result));
    }
    return absl::OkStatus();
  }

  absl::Status Polish(Reach reach, Kept& kept) {
    PlanResult& result = kept.result;
    if (kept.rules.chunks == 1)
      return PolishResult(request_, kept.rules, reach, observer_, result,
                          choice_.search.tasks);
    // Changes of plans in chunks may lead from one attempt to another.
    const PipelineRules wide = WithoutShared(kept.rules);
    PlanResult in_chunks = result;
    TANGRAM_RETURN_IF_ERROR(
        PolishChunks(request_, wide, observer_, result, choice_.search.tasks));
    TANGRAM_RETURN_IF_ERROR(PolishResult(in_chunks_, wide, Reach::kFar,
                                         observer_, in_chunks,
                                         choice_.search.tasks));
    if (IsBetter(in_chunks, result)) result = std::move(in_chunks);
    return absl::OkStatus();
  }

  const PlanningRuntime& runtime_;
  const PlannerChoice& choice_;
  const PlanRequest& asked_request_;
  PlanRequest request_;    // With the options with which the runtime trains.
  PlanRequest in_chunks_;  // Likewise, for plans in chunks.
  PlanObserver& observer_;
  bool has_begun_ = false;
  bool is_scouted_ = false;
  absl::Status refusal_;
  std::vector<Island> islands_;
  std::vector<std::optional<CollectiveLibrary>> libraries_;
  std::vector<RuntimeVariant> variants_;
  std::vector<Attempt> attempts_;
  double incumbent_s_ = kInfinity;
  double most_scouted_s_ = kInfinity;
  double members_brought_ = 1;
  double scouted_s_ = kInfinity;  // Before the seeds, of 1F1B.
  std::vector<Kept> kept_;        // The best first.
  std::optional<Infeasible> closest_;
  std::vector<std::string> limits_;  // All limits of attempts without a plan.
  PlanningStats stats_;
  double lower_bound_s_ = 0;
  std::optional<Certificate> scope_;  // Covers all attempts.
};

RuntimeSearch::RuntimeSearch(const PlanningRuntime& runtime,
                             const PlannerChoice& choice,
                             const PlanRequest& request, PlanObserver& observer)
    : parts_(std::make_unique<Parts>(runtime, choice, request, observer)) {}

RuntimeSearch::~RuntimeSearch() = default;
RuntimeSearch::RuntimeSearch(RuntimeSearch&&) noexcept = default;
RuntimeSearch& RuntimeSearch::operator=(RuntimeSearch&&) noexcept = default;

absl::Status RuntimeSearch::Scout(SlicePlanSource& scout, double incumbent_s) {
  return parts_->Scout(scout, incumbent_s);
}

absl::StatusOr<bool> RuntimeSearch::FixesDegrees(SlicePlanSource& scout) {
  TANGRAM_RETURN_IF_ERROR(parts_->Begin(scout));
  return parts_->fixes_degrees();
}

double RuntimeSearch::scouted_s() const { return parts_->scouted_s(); }

double RuntimeSearch::members_brought() const {
  return parts_->members_brought();
}

absl::StatusOr<PlanResult> RuntimeSearch::Finish(const RuntimeMembers& asked) {
  return parts_->Finish(asked);
}

absl::StatusOr<PlanResult> PlanForRuntime(
    const std::vector<PortfolioMember>& members, SlicePlanSource* scout,
    const PlannerChoice& choice, const PlanningRuntime& runtime,
    const PlanRequest& request, PlanObserver& observer) {
  RuntimeSearch search(runtime, choice, request, observer);
  const bool is_alone = members.size() == 1 && members.front().source == scout;
  if (scout != nullptr && !is_alone) {
    TANGRAM_RETURN_IF_ERROR(search.Scout(*scout));
  }
  return search.Finish({.members = members});
}

}  // namespace tangram
