#include "coordinator/planners/portfolio/plan_for_any_runtime.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/domain/model_slice.h"
#include "common/domain/runtime.h"
#include "coordinator/planners/portfolio/combine_results.h"
#include "coordinator/planners/portfolio/plan_for_runtime.h"

namespace tangram {
namespace {

// Runtimes whose plans take longer than the best by more than this fraction are
// not searched again with the mix of all members. It seldom brings 2 %.
constexpr double kSearchedAgain = 0.05;

// A plan may be so much faster, as a fraction, than the closed form by which it
// was found.
constexpr double kRounded = 0.25;

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

class Search {
 public:
  Search(const AnyRuntimeSearch& parts, const PlanRequest& request,
         PlanObserver& observer)
      : parts_(parts), request_(request), observer_(observer) {}

  absl::StatusOr<PlanResult> Run() {
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
    for (const Tried& tried : tried_) {
      TANGRAM_RETURN_IF_ERROR(TryOtherMembers(tried));
    }
    PlanRequest free = request_;
    free.constraints.runtime.clear();
    TANGRAM_ASSIGN_OR_RETURN(PlanResult of_any_kind, parts_.plan_freely(free));
    AddStats(of_any_kind.stats, stats_);
    if (!best_.has_value()) return WithoutARuntime(std::move(of_any_kind));
    PlanResult result = *std::move(best_);
    alternatives_.push_back(OfAnyKind(of_any_kind));
    if (IsBetter(of_any_kind, result)) {
      alternatives_.back().reason = WhyNotRun(*of_any_kind.plan);
    }
    result.notes.push_back(absl::StrCat(
        "runtime auto: planned for ", runtime_->name(), ", the fastest; ",
        tried_.size(), " of ", all.size(), " frameworks have a plan"));
    Finish(result);
    return result;
  }

 private:
  // A runtime that was searched, and the members that were asked.
  struct Tried {
    const PlanningRuntime* runtime;
    std::vector<PortfolioMember> members;
    size_t alternative;  // Index of its entry.
  };

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
        runtime.name(), ": not searched, because ",
        absl::StrJoin(NamesOf(members), ", "),
        " makes plans for other frameworks: --runtime ", runtime.name());
    return absl::OkStatus();
  }

  absl::Status Try(const PlanningRuntime& runtime,
                   std::vector<PortfolioMember> members, size_t index) {
    PlanAlternative& alternative = alternatives_[index];
    alternative.parallelizers = NamesOf(members);
    absl::StatusOr<PlanResult> result =
        PlanForRuntime(members, parts_.choice, runtime, request_, observer_);
    if (absl::IsUnimplemented(result.status())) {
      alternative.reason = std::string(result.status().message());
      return absl::OkStatus();
    }
    TANGRAM_RETURN_IF_ERROR(result.status());
    AddStats(result->stats, stats_);
    if (!result->plan.has_value()) {
      alternative.reason = WhyNone(*result);
      return absl::OkStatus();
    }
    alternative.iteration_time_s = result->evaluation.iteration_time_s;
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
    const double limit_s =
        best_->evaluation.iteration_time_s * (1 + kSearchedAgain);
    const PlanAlternative& alternative = alternatives_[tried.alternative];
    if (*alternative.iteration_time_s > limit_s) return absl::OkStatus();
    return TryFaster(tried, members);
  }

  // Looks for a plan that is faster than the best so far.
  absl::Status TryFaster(const Tried& tried,
                         const std::vector<PortfolioMember>& members) {
    absl::StatusOr<PlanResult> result = PlanForRuntime(
        members, parts_.choice, *tried.runtime, request_, observer_,
        (1 + kRounded) *
            std::max(best_->closed_form_s, best_->evaluation.iteration_time_s));
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

  void Keep(PlanResult result, const PlanningRuntime& runtime) {
    if (best_.has_value() && !IsBetter(result, *best_)) return;
    best_ = std::move(result);
    runtime_ = &runtime;
  }

  // Returns the entry of plans of any kind.
  static PlanAlternative OfAnyKind(const PlanResult& of_any_kind) {
    PlanAlternative alternative{.runtime = kAnyRuntime};
    if (!of_any_kind.plan.has_value()) {
      alternative.reason = WhyNone(of_any_kind);
      return alternative;
    }
    alternative.parallelizers = MakersOf(*of_any_kind.plan);
    alternative.iteration_time_s = of_any_kind.evaluation.iteration_time_s;
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

  // Returns why the runtime of the answer does not run the plan.
  std::string WhyNotRun(const PipelinePlan& plan) const {
    const std::vector<LayerRun> layers =
        MakeSlice({0, request_.model.num_layers()}, request_.model.layers).runs;
    for (const PlacedStage& stage : plan.stages) {
      const absl::string_view why =
          WhyNotRunnable(runtime_->runs(), stage.plan, layers);
      if (!why.empty())
        return absl::StrCat(runtime_->name(), " does not run ", why);
    }
    PlanRequest request = request_;
    request.training = runtime_->Train(request.training);
    const absl::Status status = runtime_->Fit(request, plan).status();
    // A refusal lists all obstacles; one is enough here.
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(status.message(), absl::MaxSplits(". Also: ", 1));
    return std::string(parts.first);
  }

  // Returns the answer if no runtime has a plan.
  absl::StatusOr<PlanResult> WithoutARuntime(PlanResult of_any_kind) {
    PlanAlternative of_any = OfAnyKind(of_any_kind);
    PlanResult result = std::move(of_any_kind);
    if (result.plan.has_value()) {
      const std::string reasons = absl::StrJoin(
          alternatives_, "; ", [](std::string* out, const auto& alternative) {
            const std::string name = absl::StrCat(alternative.runtime, ": ");
            if (!absl::StartsWith(alternative.reason, name)) out->append(name);
            out->append(alternative.reason);
          });
      result = {
          .islands = std::move(result.islands),
          .infeasible = Infeasible{
              .reason = absl::StrCat("no framework trains a plan: ", reasons)}};
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
  std::vector<PlanAlternative> alternatives_;
  std::vector<Tried> tried_;  // Runtimes with a plan.
  std::optional<PlanResult> best_;
  const PlanningRuntime* runtime_ = nullptr;  // The runtime of `best_`.
  PlanningStats stats_;
};

}  // namespace

absl::StatusOr<PlanResult> PlanForAnyRuntime(const AnyRuntimeSearch& search,
                                             const PlanRequest& request,
                                             PlanObserver& observer) {
  return Search(search, request, observer).Run();
}

}  // namespace tangram
