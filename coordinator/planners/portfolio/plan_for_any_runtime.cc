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

// Runtimes whose plans take longer than the best by more than this fraction are
// not searched again with the mix of all members. It seldom brings 2 %.
constexpr double kSearchedAgain = 0.05;

// Others than these are not searched again at all: one parallelizer hardly ever
// brings so much, as a fraction, beyond those that suit the runtime best.
constexpr double kFarBehind = 0.15;

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
    const std::vector<const PlanningRuntime*> all = parts_.runtimes.All();
    std::vector<size_t> others;
    for (size_t i = 0; i < all.size(); ++i) {
      alternatives_.push_back({.runtime = std::string(all[i]->name())});
      TANGRAM_ASSIGN_OR_RETURN(const bool suits, TrySuited(*all[i], i));
      if (!suits) others.push_back(i);
    }
    // Members that make plans for other runtimes seldom make good ones here,
    // and search long for them.
    const bool needs_others = !best_.has_value();
    for (const size_t i : others) {
      TANGRAM_RETURN_IF_ERROR(TryUnsuited(*all[i], needs_others, i));
    }
    // The fastest first, as what they find limits the searches of others.
    std::vector<Tried> again = tried_;
    absl::c_stable_sort(again, [this](const Tried& a, const Tried& b) {
      return SecondsOf(a) < SecondsOf(b);
    });
    for (const Tried& tried : again) {
      TANGRAM_RETURN_IF_ERROR(TryOtherMembers(tried));
    }
    TANGRAM_RETURN_IF_ERROR(PlayAsAsked());
    if (freely == Freely::kLast) {
      TANGRAM_RETURN_IF_ERROR(
          PlanFreelyWith(parts_.runtimes.FreeParallelizers(request_.model)));
    }
    if (!best_.has_value()) {
      if (!of_any_kind_.plan.has_value() && freely == Freely::kLast) {
        TANGRAM_RETURN_IF_ERROR(AskEveryone());
      }
      return not_offered_;
    }
    TakeForAnyKind();
    return absl::OkStatus();
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
  // A runtime that was searched, and the members that were asked.
  struct Tried {
    const PlanningRuntime* runtime;
    std::vector<PortfolioMember> members;
    size_t alternative;  // Index of its entry.
  };

  double SecondsOf(const Tried& tried) const {
    return *alternatives_[tried.alternative].iteration_time_s;
  }

  // Returns whether the best plan of the runtime takes longer than the best of
  // all by more than this fraction.
  bool IsBehind(const Tried& tried, double fraction) const {
    return SecondsOf(tried) >
           best_->evaluation.iteration_time_s * (1 + fraction);
  }

  // Returns the time, in seconds, of plans that may become the fastest by
  // polishing.
  double WorthPolishing() const {
    return best_.has_value()
               ? best_->evaluation.iteration_time_s * (1 + kWorthPolishing)
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

  // Plans for the runtime with the members that suit it, as if the request had
  // named the runtime. Returns false if members were named and none suits.
  absl::StatusOr<bool> TrySuited(const PlanningRuntime& runtime,
                                 size_t alternative) {
    const auto members = parts_.asked(runtime.Parallelizers(request_.model));
    if (!members.ok()) {
      alternatives_[alternative].reason =
          std::string(members.status().message());
      return true;
    }
    std::vector<PortfolioMember> suited = Suited(*members, runtime);
    if (suited.empty()) return false;
    TANGRAM_RETURN_IF_ERROR(Try(runtime, std::move(suited), alternative));
    return true;
  }

  // Plans for the runtime with members that do not suit it, if that is needed.
  absl::Status TryUnsuited(const PlanningRuntime& runtime, bool is_needed,
                           size_t alternative) {
    TANGRAM_ASSIGN_OR_RETURN(
        std::vector<PortfolioMember> members,
        parts_.asked(runtime.Parallelizers(request_.model)));
    if (is_needed) {
      return Try(runtime, std::move(members), alternative);
    }
    alternatives_[alternative].reason = absl::StrCat(
        absl::StrJoin(NamesOf(members), ", "),
        members.size() == 1 ? " makes" : " make",
        " plans for other frameworks; --runtime NAME searches one with ",
        members.size() == 1 ? "it" : "them",
        ", and without --parallelizer all are searched");
    return absl::OkStatus();
  }

  absl::Status Try(const PlanningRuntime& runtime,
                   std::vector<PortfolioMember> members, size_t index) {
    PlanAlternative& alternative = alternatives_[index];
    alternative.parallelizers = NamesOf(members);
    absl::StatusOr<PlanResult> result =
        PlanForRuntime({.members = members,
                        .scout = parts_.scout,
                        .worth_polishing_s = WorthPolishing()},
                       parts_.choice, runtime, request_, observer_);
    if (absl::IsUnimplemented(result.status())) {
      alternative.reason = std::string(result.status().message());
      return absl::OkStatus();
    }
    TANGRAM_RETURN_IF_ERROR(result.status());
    AddStats(result->stats, stats_);
    if (!result->plan.has_value()) {
      alternative.reason = WhyNone(*result);
      KeepClosest(result->infeasible, closest_);
      return absl::OkStatus();
    }
    alternative.iteration_time_s = result->evaluation.iteration_time_s;
    for (std::string& maker : MakersOf(*result->plan)) {  // Perhaps the scout.
      if (!absl::c_linear_search(alternative.parallelizers, maker)) {
        alternative.parallelizers.push_back(std::move(maker));
      }
    }
    tried_.push_back({.runtime = &runtime,
                      .members = std::move(members),
                      .alternative = index});
    Keep(*std::move(result), runtime);
    return absl::OkStatus();
  }

  // Searches the runtime once more, with each member alone and with all that
  // suit it. Whole plans are rounded after a search, so neither is always
  // better than the other.
  absl::Status TryOtherMembers(const Tried& tried) {
    if (IsBehind(tried, kFarBehind)) return absl::OkStatus();
    TANGRAM_ASSIGN_OR_RETURN(std::vector<PortfolioMember> members,
                             parts_.asked(tried.runtime->AllParallelizers()));
    members = Suited(members, *tried.runtime);
    for (const PortfolioMember& member : members) {
      if (tried.members.size() == 1 && Includes(tried.members, {member})) {
        continue;
      }
      TANGRAM_RETURN_IF_ERROR(TryFaster(tried, {member}));
    }
    if (Includes(tried.members, members)) return absl::OkStatus();
    if (IsBehind(tried, kSearchedAgain)) return absl::OkStatus();
    return TryFaster(tried, members);
  }

  // Looks for a plan that is faster than the best so far.
  absl::Status TryFaster(const Tried& tried,
                         const std::vector<PortfolioMember>& members) {
    absl::StatusOr<PlanResult> result =
        PlanForRuntime({.members = members,
                        .incumbent_s = IncumbentSeconds(*best_),
                        .worth_polishing_s = WorthPolishing()},
                       parts_.choice, *tried.runtime, request_, observer_);
    // A member that does not know the model.
    if (absl::IsUnimplemented(result.status())) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(result.status());
    AddStats(result->stats, stats_);
    if (!result->plan.has_value() || !IsBetter(*result, *best_)) {
      return absl::OkStatus();
    }
    PlanAlternative& alternative = alternatives_[tried.alternative];
    alternative.parallelizers = NamesOf(members);
    alternative.iteration_time_s = result->evaluation.iteration_time_s;
    Keep(*std::move(result), *tried.runtime);
    return absl::OkStatus();
  }

  // Keeps the better plan; of equally fast ones the first, but rather for a
  // runtime that reads the user's data.
  void Keep(PlanResult result, const PlanningRuntime& runtime) {
    const bool reads_more =
        runtime_ != nullptr && runtime.ReadsData() && !runtime_->ReadsData();
    if (best_.has_value() && !IsBetter(result, *best_) &&
        !(reads_more && !IsBetter(*best_, result))) {
      return;
    }
    best_ = std::move(result);
    runtime_ = &runtime;
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
  // as asked.
  void TakeForAnyKind() {
    if (!as_asked_.has_value()) return;
    if (of_any_kind_.plan.has_value() &&
        of_any_kind_.evaluation.iteration_time_s <=
            as_asked_->iteration_time_s) {
      return;
    }
    PlanResult& result = of_any_kind_;
    result.lower_bound_s = 0;  // None is proven for plans for a runtime.
    result.plan = best_->plan;
    result.evaluation = *as_asked_;
    result.islands = best_->islands;
    result.unused_islands = best_->unused_islands;
    result.runners_up = best_->runners_up;
    result.closed_form_s = best_->closed_form_s;
    result.infeasible.reset();
    result.limits.clear();
    result.notes.push_back(absl::StrCat("runtime any: the plan for ",
                                        runtime_->name(),
                                        " is the fastest that was found"));
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
  std::vector<Tried> tried_;  // Runtimes with a plan.
  std::optional<PlanResult> best_;
  const PlanningRuntime* runtime_ = nullptr;  // The runtime of `best_`.
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
