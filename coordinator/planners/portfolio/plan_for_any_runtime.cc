#include "coordinator/planners/portfolio/plan_for_any_runtime.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/base/format.h"
#include "common/base/infinity.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "common/domain/model_slice.h"
#include "common/domain/runtime.h"
#include "common/planner/keep_closest.h"
#include "coordinator/planners/judge/judge_plan.h"
#include "coordinator/planners/polish/polish_result.h"
#include "coordinator/planners/portfolio/auto_notes.h"
#include "coordinator/planners/portfolio/combine_results.h"
#include "coordinator/planners/portfolio/plan_for_runtime.h"

namespace tangram {
namespace {

// The plan of the scout is enough for runtimes for which it takes longer than
// the best scouted by more than this fraction. The parallelizers of a runtime
// bring up to a quarter, where memory is scarce.
constexpr double kFarBehind = 0.3;

// On many GPUs, searches and polishing bring a later framework at most this
// fraction, or a little more than they brought the best one.
constexpr double kSearchesBring = 0.1;
constexpr double kMoreThanBest = 0.02;

// The fraction that polishing brings a plan for a runtime. Slower plans than
// the best polished one and this are not looked for.
constexpr double kPolishingBrings = 0.04;

// Plans that small changes leave slower than the best by more than this
// fraction hardly ever become the best by large ones.
constexpr double kWorthLargeChanges = 0.025;

// Tells cheaply what plans of any kind would bring, unless plans are polished.
constexpr absl::string_view kHinter = "mist";

std::vector<std::string> NamesOf(absl::Span<const PortfolioMember> members) {
  std::vector<std::string> names;
  for (const PortfolioMember& member : members) {
    names.push_back(member.parallelizer);
  }
  return names;
}

// Returns whether all of `some` are among `all`.
bool Includes(absl::Span<const PortfolioMember> all,
              absl::Span<const PortfolioMember> some) {
  return absl::c_all_of(some, [&](const PortfolioMember& member) {
    return absl::c_any_of(all, [&](const PortfolioMember& other) {
      return other.source == member.source;
    });
  });
}

// When plans of any kind are searched. First, they have a lower bound. Last,
// the best plan for a runtime limits the search, which takes less time then.
enum class Freely { kFirst, kLast };

// The parallelizers that plan for a runtime: those that suit it by default,
// which say best what is missing if nothing fits, or all that suit it.
enum class Members { kDefault, kAll };

class Search {
 public:
  Search(const AnyRuntimeSearch& parts, const PlanRequest& request,
         PlanObserver& observer)
      : parts_(parts), request_(request), observer_(observer) {}

  // Searches plans of any kind, and those of every runtime.
  absl::Status Run(Freely freely) {
    if (freely == Freely::kFirst) {
      TANGRAM_RETURN_IF_ERROR(PlanFreelyWith(Everyone()));
    }
    TANGRAM_RETURN_IF_ERROR(Scout());
    const bool is_scouted = least_scouted_s_ < kInfinity;
    TANGRAM_RETURN_IF_ERROR(
        SearchRuntimes(is_scouted ? Members::kAll : Members::kDefault));
    if (freely == Freely::kLast) TANGRAM_RETURN_IF_ERROR(Hint());
    if (!best_.has_value() && !is_scouted && of_any_kind_.plan.has_value()) {
      TANGRAM_RETURN_IF_ERROR(SearchRuntimes(Members::kAll));
    }
    if (!best_.has_value()) return not_offered_;
    return TakeForAnyKind();
  }

  // Returns the fastest plan that a runtime runs.
  PlanResult ForARuntime() {
    if (!best_.has_value()) return WithoutARuntime();
    PlanResult result = *std::move(best_);
    alternatives_.push_back(OfAnyKind());
    if (IsBetter(of_any_kind_, result)) {
      alternatives_.back().reason = WhyNotRun(*of_any_kind_.plan);
    }
    absl::c_copy(AutoNotes(*runtime_, alternatives_, parts_.runtimes),
                 std::back_inserter(result.notes));
    Finish(result);
    return result;
  }

  // Returns the fastest plan of any kind.
  PlanResult OfAny() {
    PlanResult result = std::move(of_any_kind_);
    result.stats = stats_;
    return result;
  }

 private:
  // A runtime, its search, and the index of its entry.
  struct Tried {
    const PlanningRuntime* runtime;
    RuntimeSearch search;
    size_t alternative;
    bool is_finished = false;
  };

  // Lets the scout try every runtime. Those for which it finds the fastest
  // plans go first, as what they find limits the searches of the others.
  absl::Status Scout() {
    for (const PlanningRuntime* runtime : parts_.runtimes.All()) {
      tried_.push_back(
          {runtime, RuntimeSearch(*runtime, parts_.choice, request_, observer_),
           alternatives_.size()});
      alternatives_.push_back({.runtime = std::string(runtime->name())});
    }
    if (parts_.scout == nullptr) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(ScoutWith(*parts_.scout));
    absl::c_stable_sort(tried_, [](const Tried& a, const Tried& b) {
      return a.search.scouted_s() < b.search.scouted_s();
    });
    least_scouted_s_ = tried_.front().search.scouted_s();
    return absl::OkStatus();
  }

  // Scouts for plans that are not far behind the best so far, for runtimes with
  // short searches first. On few GPUs, then scouts for any plan of runtimes
  // that have none.
  absl::Status ScoutWith(SlicePlanSource& scout) {
    double least_s = kInfinity;
    const auto search = [&](Tried& tried, double limit_s) -> absl::Status {
      TANGRAM_RETURN_IF_ERROR(tried.search.Scout(scout, limit_s));
      least_s = std::min(least_s, tried.search.scouted_s());
      return absl::OkStatus();
    };
    for (const bool short_ones : {true, false}) {
      for (Tried& tried : tried_) {
        TANGRAM_ASSIGN_OR_RETURN(const bool fixes_degrees,
                                 tried.search.FixesDegrees(scout));
        if (fixes_degrees != short_ones) continue;
        TANGRAM_RETURN_IF_ERROR(search(tried, least_s * (1 + kFarBehind)));
      }
    }
    for (Tried& tried : tried_) {
      if (tried.search.scouted_s() < kInfinity || !HasFewGpus(request_)) {
        continue;
      }
      TANGRAM_RETURN_IF_ERROR(search(tried, kInfinity));
    }
    return absl::OkStatus();
  }

  // Searches plans of every runtime. Those that take too long by the scout keep
  // its plan.
  absl::Status SearchRuntimes(Members members) {
    std::vector<Tried*> others;
    for (Tried& tried : tried_) {
      TANGRAM_ASSIGN_OR_RETURN(const bool suits, TrySuited(tried, members));
      if (!suits) others.push_back(&tried);
    }
    // Members that make plans for other runtimes seldom make good ones here,
    // and search long for them.
    const bool needs_others = !best_.has_value();
    for (Tried* const tried : others) {
      TANGRAM_RETURN_IF_ERROR(TryUnsuited(*tried, needs_others));
    }
    return PlayAsAsked();
  }

  // Returns the time, in seconds, above which the scout's plan for a runtime is
  // enough.
  double MostScouted() const {
    if (!best_.has_value() || HasFewGpus(request_)) {
      return least_scouted_s_ * (1 + kFarBehind);
    }
    const double best_s = best_->evaluation.iteration_time_s;
    return best_s * std::max(1 + kSearchesBring,
                             least_scouted_s_ / best_s + kMoreThanBest);
  }

  // Returns the time, in seconds, of plans that take longer than the best so
  // far by the fraction. Infinite: there is none.
  double SlowerThanBest(double fraction) const {
    return best_.has_value()
               ? best_->evaluation.iteration_time_s * (1 + fraction)
               : kInfinity;
  }

  // Returns the parallelizers that plan without a runtime, those that are asked
  // by default first, and all that some runtime knows.
  std::vector<std::string> Everyone() const {
    std::vector<std::string> everyone =
        parts_.runtimes.FreeParallelizers(request_.model);
    for (const PlanningRuntime* runtime : parts_.runtimes.All()) {
      for (std::string& name : runtime->AllParallelizers()) {
        if (!absl::c_linear_search(everyone, name)) {
          everyone.push_back(std::move(name));
        }
      }
    }
    return everyone;
  }

  // Plans without a runtime with all of them, unless all were asked.
  absl::Status AskEveryone() {
    const std::vector<std::string> everyone = Everyone();
    const auto asked =
        parts_.asked(parts_.runtimes.FreeParallelizers(request_.model));
    const auto all = parts_.asked(everyone);
    if (!all.ok() || (asked.ok() && Includes(*asked, *all))) {
      return absl::OkStatus();
    }
    PlanResult nothing = std::move(of_any_kind_);
    TANGRAM_RETURN_IF_ERROR(PlanFreelyWith(everyone));
    // The default parallelizers say best what is missing.
    if (!of_any_kind_.plan.has_value()) of_any_kind_ = std::move(nothing);
    return absl::OkStatus();
  }

  // Plans without a runtime, with those of `suitable` that are offered. If none
  // is, others may plan for a runtime.
  absl::Status PlanFreelyWith(const std::vector<std::string>& suitable) {
    not_offered_ = parts_.asked(suitable).status();
    if (!not_offered_.ok()) {
      of_any_kind_.infeasible =
          Infeasible{.reason = std::string(not_offered_.message())};
      return absl::OkStatus();
    }
    PlanRequest free = request_;
    free.constraints.runtime.clear();
    double incumbent_s = kInfinity;
    if (as_asked_.has_value()) {
      incumbent_s = std::max(
          IncumbentSeconds(*best_),
          IncumbentSeconds({.plan = best_->plan, .evaluation = *as_asked_}));
    }
    TANGRAM_ASSIGN_OR_RETURN(of_any_kind_,
                             parts_.plan_freely(free, suitable, incumbent_s));
    AddStats(of_any_kind_.stats, stats_);
    return absl::OkStatus();
  }

  // Returns those of `members` that suit the runtime. Parallelizers that no
  // runtime knows suit all.
  std::vector<PortfolioMember> Suited(
      const std::vector<PortfolioMember>& members,
      const PlanningRuntime& runtime) const {
    const std::vector<std::string> suitable = runtime.AllParallelizers();
    std::vector<PortfolioMember> suited;
    for (const PortfolioMember& member : members) {
      if (absl::c_linear_search(suitable, member.parallelizer) ||
          !IsKnown(member.parallelizer)) {
        suited.push_back(member);
      }
    }
    return suited;
  }

  bool IsKnown(const std::string& parallelizer) const {
    return absl::c_any_of(parts_.runtimes.All(),
                          [&](const PlanningRuntime* runtime) {
                            return absl::c_linear_search(
                                runtime->AllParallelizers(), parallelizer);
                          });
  }

  // Plans for the runtime with the members that suit it. Returns false if
  // members were named and none suits.
  absl::StatusOr<bool> TrySuited(Tried& tried, Members which) {
    const auto members = parts_.asked(
        which == Members::kAll ? tried.runtime->AllParallelizers()
                               : tried.runtime->Parallelizers(request_.model));
    if (!members.ok()) {
      alternatives_[tried.alternative].reason =
          std::string(members.status().message());
      return true;
    }
    std::vector<PortfolioMember> suited = Suited(*members, *tried.runtime);
    if (suited.empty()) return false;
    const double scouted_s = tried.search.scouted_s();
    const bool has_plan = scouted_s < kInfinity;
    if ((has_plan || !HasFewGpus(request_)) && scouted_s > MostScouted()) {
      suited.clear();
    }
    TANGRAM_RETURN_IF_ERROR(Try(tried, suited));
    return true;
  }

  // Plans for the runtime with members that do not suit it, if that is needed.
  absl::Status TryUnsuited(Tried& tried, bool is_needed) {
    TANGRAM_ASSIGN_OR_RETURN(
        const std::vector<PortfolioMember> members,
        parts_.asked(tried.runtime->Parallelizers(request_.model)));
    if (is_needed) return Try(tried, members);
    alternatives_[tried.alternative].reason = absl::StrCat(
        absl::StrJoin(NamesOf(members), ", "),
        members.size() == 1 ? " makes" : " make",
        " plans for other frameworks; --runtime NAME searches one with ",
        members.size() == 1 ? "it" : "them",
        ", and without --parallelizer all are searched");
    return absl::OkStatus();
  }

  // Plans for the runtime with the scout and these members. If there is a
  // scout, they look for plans that come close to the best so far.
  absl::Status Try(Tried& tried, const std::vector<PortfolioMember>& members) {
    PlanAlternative& alternative = alternatives_[tried.alternative];
    alternative.parallelizers = NamesOf(members);
    const bool is_limited = parts_.scout != nullptr && best_.has_value();
    const double incumbent_s =
        is_limited ? SlowerThanBest(kPolishingBrings) : kInfinity;
    if (tried.is_finished) {
      tried.search =
          RuntimeSearch(*tried.runtime, parts_.choice, request_, observer_);
    }
    tried.is_finished = true;
    absl::StatusOr<PlanResult> result = tried.search.Finish(
        {.members = members,
         .incumbent_s = incumbent_s,
         .most_scouted_s = incumbent_s * members_bring_,
         .worth_polishing_s = SlowerThanBest(kWorthPolishing),
         .worth_leaping_s = SlowerThanBest(kWorthLargeChanges)});
    if (absl::IsUnimplemented(result.status())) {
      alternative.reason = std::string(result.status().message());
      return absl::OkStatus();
    }
    TANGRAM_RETURN_IF_ERROR(result.status());
    AddStats(result->stats, stats_);
    if (!result->plan.has_value()) {
      if (!alternative.reason.empty()) return absl::OkStatus();
      alternative.reason = is_limited
                               ? absl::StrCat("no plan that takes less than ",
                                              FormatSeconds(incumbent_s))
                               : WhyNone(*result);
      KeepClosest(result->infeasible, closest_);
      return absl::OkStatus();
    }
    alternative.reason.clear();
    alternative.iteration_time_s = result->evaluation.iteration_time_s;
    for (std::string& maker : MakersOf(*result->plan)) {  // Perhaps the scout.
      if (!absl::c_linear_search(alternative.parallelizers, maker)) {
        alternative.parallelizers.push_back(std::move(maker));
      }
    }
    if (Keep(*std::move(result), *tried.runtime)) {
      members_bring_ = tried.search.members_brought();
    }
    return absl::OkStatus();
  }

  // Tells what plans of any kind bring at least: the best for a runtime,
  // polished without its rules. If there is none, looks for any at all.
  absl::Status Hint() {
    if (as_asked_.has_value() && parts_.choice.search.polish) {
      return absl::OkStatus();  // See TakeForAnyKind.
    }
    std::vector<std::string> hinters = {std::string(kHinter)};
    if (!best_.has_value() || !parts_.asked(hinters).ok()) {
      hinters = parts_.runtimes.FreeParallelizers(request_.model);
    }
    TANGRAM_RETURN_IF_ERROR(PlanFreelyWith(hinters));
    const bool some_plan = best_.has_value() || of_any_kind_.plan.has_value();
    return some_plan ? absl::OkStatus() : AskEveryone();
  }

  // Keeps the better plan; of equally fast ones the first, but rather for a
  // runtime that reads the user's data. Returns whether it kept this one.
  bool Keep(PlanResult result, const PlanningRuntime& runtime) {
    const bool reads_more =
        runtime_ != nullptr && runtime.ReadsData() && !runtime_->ReadsData();
    if (best_.has_value() && !IsBetter(result, *best_) &&
        !(reads_more && !IsBetter(*best_, result))) {
      return false;
    }
    best_ = std::move(result);
    runtime_ = &runtime;
    return true;
  }

  // Plays the best plan of a runtime in the training that was asked for.
  absl::Status PlayAsAsked() {
    if (!best_.has_value()) return absl::OkStatus();
    as_asked_ = best_->evaluation;
    if (!best_->training.has_value()) return absl::OkStatus();
    TANGRAM_ASSIGN_OR_RETURN(as_asked_,
                             JudgePlan(request_, *best_->plan, observer_));
    return absl::OkStatus();
  }

  // Makes the best plan of a runtime that of any kind too if it is faster, also
  // as asked and polished without the rules of the runtime.
  absl::Status TakeForAnyKind() {
    if (!as_asked_.has_value()) return absl::OkStatus();
    PlanResult taken{.plan = best_->plan, .evaluation = *as_asked_};
    if (parts_.choice.search.polish) {
      TANGRAM_RETURN_IF_ERROR(
          PolishResult(request_, /*rules=*/{}, Reach::kNear, observer_, taken));
    }
    PlanResult& result = of_any_kind_;
    if (result.plan.has_value() && !IsBetter(taken, result)) {
      return absl::OkStatus();
    }
    result.lower_bound_s = 0;  // None is proven for plans for a runtime.
    result.plan = std::move(taken.plan);
    result.evaluation = std::move(taken.evaluation);
    result.islands = best_->islands;
    result.unused_islands = best_->unused_islands;
    result.runners_up = best_->runners_up;
    result.closed_form_s = best_->closed_form_s;
    result.infeasible.reset();
    result.limits.clear();
    result.notes.push_back(absl::StrCat("runtime any: the plan for ",
                                        runtime_->name(),
                                        " is the fastest that was found"));
    absl::c_move(taken.notes, std::back_inserter(result.notes));
    return absl::OkStatus();
  }

  // Returns the entry of plans of any kind.
  PlanAlternative OfAnyKind() const {
    PlanAlternative alternative{.runtime = kAnyRuntime};
    if (!of_any_kind_.plan.has_value()) {
      alternative.reason = WhyNone(of_any_kind_);
      return alternative;
    }
    alternative.parallelizers = MakersOf(*of_any_kind_.plan);
    alternative.iteration_time_s = of_any_kind_.evaluation.iteration_time_s;
    return alternative;
  }

  static std::vector<std::string> MakersOf(const PipelinePlan& plan) {
    std::vector<std::string> makers;
    for (const PlacedStage& stage : plan.stages) {
      if (!absl::c_linear_search(makers, stage.made_by)) {
        makers.push_back(stage.made_by);
      }
    }
    return makers;
  }

  // Returns why the runtime of the answer, or any, does not run the plan.
  std::string WhyNotRun(const PipelinePlan& plan) const {
    const std::vector<LayerRun> layers =
        MakeSlice({0, request_.model.num_layers()}, request_.model.layers).runs;
    for (const PlacedStage& stage : plan.stages) {
      const absl::string_view why =
          WhyNotRunnable(runtime_->runs(), stage.plan, layers);
      if (why.empty()) continue;
      const bool some_runs = absl::c_any_of(
          parts_.runtimes.KnownRuntimes(), [&](const Runtime& runtime) {
            return WhyNotRunnable(runtime, stage.plan, layers).empty();
          });
      return some_runs ? absl::StrCat(runtime_->name(), " does not run ", why)
                       : absl::StrCat("no framework trains ", why);
    }
    const absl::string_view why = WhyNotScheduled(runtime_->runs(), plan);
    if (!why.empty()) {
      return absl::StrCat(runtime_->name(), " does not run ", why);
    }
    PlanRequest request = request_;
    request.training = runtime_->Train(request.training);
    const absl::Status status = runtime_->Fit(request, plan).status();
    return std::string(FirstObstacle(status.message()));
  }

  // "flagscale, alpa: the model does not fit; galvatron: no flash attention".
  std::string Reasons() const {
    std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
    for (const PlanAlternative& alternative : alternatives_) {
      absl::string_view reason = alternative.reason;
      absl::ConsumePrefix(&reason, absl::StrCat(alternative.runtime, ": "));
      auto same = absl::c_find_if(
          by_reason, [&](const auto& known) { return known.first == reason; });
      if (same == by_reason.end()) {
        same = by_reason.insert(same, {std::string(reason), {}});
      }
      same->second.push_back(alternative.runtime);
    }
    return absl::StrJoin(
        by_reason, "; ", [](std::string* out, const auto& known) {
          absl::StrAppend(out, absl::StrJoin(known.second, ", "), ": ",
                          known.first);
        });
  }

  // Returns the answer if no runtime has a plan.
  PlanResult WithoutARuntime() {
    PlanAlternative of_any = OfAnyKind();
    PlanResult result = std::move(of_any_kind_);
    if (result.plan.has_value()) {
      result = {
          .islands = std::move(result.islands),
          .infeasible = Infeasible{
              .reason = absl::StrCat("no framework trains a plan: ", Reasons(),
                                     "; --runtime any: a plan of ",
                                     FormatSeconds(*of_any.iteration_time_s)),
              .bytes_short = closest_.has_value() ? closest_->bytes_short : 0}};
    }
    alternatives_.push_back(std::move(of_any));
    Finish(result);
    return result;
  }

  void Finish(PlanResult& result) {
    result.alternatives = std::move(alternatives_);
    result.stats = stats_;
  }

  const AnyRuntimeSearch& parts_;
  const PlanRequest& request_;
  PlanObserver& observer_;
  PlanResult of_any_kind_;
  absl::Status not_offered_;  // Why nobody plans without a runtime.
  std::vector<PlanAlternative> alternatives_;
  std::vector<Tried> tried_;  // All runtimes, those scouted fastest first.
  std::optional<PlanResult> best_;
  const PlanningRuntime* runtime_ = nullptr;  // The runtime of `best_`.
  double least_scouted_s_ = kInfinity;
  double members_bring_ = 1;  // RuntimeSearch::members_brought for it.
  // The reason that came closest, of runtimes without a plan.
  std::optional<Infeasible> closest_;
  // The best plan in the training that was asked for, if it fits then.
  std::optional<Evaluation> as_asked_;
  PlanningStats stats_;
};

}  // namespace

absl::StatusOr<PlanResult> PlanForAnyRuntime(const AnyRuntimeSearch& search,
                                             const PlanRequest& request,
                                             PlanObserver& observer) {
  Search all(search, request, observer);
  TANGRAM_RETURN_IF_ERROR(all.Run(Freely::kLast));
  return all.ForARuntime();
}

absl::StatusOr<PlanResult> PlanOfAnyKind(const AnyRuntimeSearch& search,
                                         const PlanRequest& request,
                                         PlanObserver& observer) {
  Search all(search, request, observer);
  TANGRAM_RETURN_IF_ERROR(all.Run(Freely::kFirst));
  return all.OfAny();
}

}  // namespace tangram
