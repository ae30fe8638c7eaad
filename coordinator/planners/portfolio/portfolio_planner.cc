#include "coordinator/planners/portfolio/portfolio_planner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/format.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "common/domain/runtime.h"
#include "common/parallelizer/parallelizer_list.h"
#include "coordinator/bounds/any_plan_bound.h"
#include "coordinator/planners/constraints/resolve_constraints.h"
#include "coordinator/planners/portfolio/check_meets.h"
#include "coordinator/planners/portfolio/combine_results.h"
#include "coordinator/planners/portfolio/judged_choice.h"
#include "coordinator/planners/portfolio/mix_rules.h"
#include "coordinator/planners/portfolio/mixable_members.h"
#include "coordinator/planners/portfolio/mixed_source.h"
#include "coordinator/planners/portfolio/name_constraints.h"
#include "coordinator/planners/portfolio/no_slice_plans.h"
#include "coordinator/planners/portfolio/plan_for_any_runtime.h"
#include "coordinator/planners/portfolio/plan_for_runtime.h"
#include "coordinator/planners/portfolio/preferred_precision.h"
#include "coordinator/planners/portfolio/split_planner.h"
#include "coordinator/planners/portfolio/whole_search.h"
#include "coordinator/planners/replicas/plan_pipelines.h"

namespace tangram {
namespace {

class PortfolioPlanner : public ClusterPlanner {
 public:
  PortfolioPlanner(std::vector<PortfolioMember> members, PlannerChoice choice,
                   const RuntimeCatalogue& runtimes, MembersAsked asked)
      : members_(std::move(members)),
        choice_(std::move(choice)),
        runtimes_(runtimes),
        asked_(asked) {
    choice_.searches_whole &= absl::c_all_of(members_, [](const auto& member) {
      return IsNativeParallelizer(member.parallelizer);
    });
  }

  absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                  PlanObserver& observer) override {
    if (!choice_.planner->features.parallelizers) {
      return PlanWithoutMembers(request, observer);
    }
    TANGRAM_ASSIGN_OR_RETURN(PlanResult result, PlanOnce(request, observer));
    if (request.constraints.runtime.empty()) {
      TANGRAM_RETURN_IF_ERROR(
          SearchWhole(choice_, request, {}, observer, result));
    }
    if (!result.plan.has_value()) {
      TANGRAM_RETURN_IF_ERROR(Explain(request, observer, result));
      result.certificate.reset();
      return result;
    }
    if (request.constraints.runtime.empty()) {
      TANGRAM_RETURN_IF_ERROR(TrySeveral(request, observer, result));
    } else if (request.constraints.runtime != kAutoRuntime) {
      TANGRAM_RETURN_IF_ERROR(TrySeveralForRuntime(request, observer, result));
    }
    TANGRAM_RETURN_IF_ERROR(Certify(request, result));
    return result;
  }

 private:
  // The results so far.
  struct Answer {
    std::optional<PlanResult> best;
    size_t rank = 0;  // Index of its entry in `alternatives`.
    std::vector<PlanAlternative> alternatives;
    PlanningStats stats;
    double incumbent_s = kInfinity;  // No other plan is of use.
    double lower_bound_s = 0;        // Least over all alternatives with a plan.
    std::optional<Certificate> scope;  // Covers all alternatives.

    // Returns the time of plans that no further search need look for.
    double IncumbentToBeat() const {
      return best.has_value() ? std::min(incumbent_s, IncumbentSeconds(*best))
                              : incumbent_s;
    }
    std::vector<std::string> limits;  // All limits of alternatives without one.
    std::vector<std::string> left_out;  // Members that are in no mix.
  };

  // Plans with a planner that asks no parallelizer.
  absl::StatusOr<PlanResult> PlanWithoutMembers(const PlanRequest& request,
                                                PlanObserver& observer) {
    TANGRAM_RETURN_IF_ERROR(CheckMeets(*choice_.planner, request));
    PlanRequest free = request;
    free.constraints.runtime.clear();
    NoSlicePlans none;
    TANGRAM_ASSIGN_OR_RETURN(
        PlanResult result,
        CreateJudgedPlanner(choice_, none)->Plan(free, observer));
    if (!result.has_plan()) {
      result.certificate.reset();
      return result;
    }
    if (!request.constraints.runtime.empty()) {
      result.notes.push_back(
          absl::StrCat("planner ", choice_.planner->name,
                       " plans for no framework: the plan is of any kind"));
    }
    TANGRAM_RETURN_IF_ERROR(Certify(request, result));
    return result;
  }

  // Returns whether several pipelines are asked for and may be had. They are
  // played with 1F1B alone.
  bool MayCombine(const PlanRequest& request, PlanResult& result) const {
    if (choice_.search.max_pipelines < 2) return false;
    if (!DemandsRescheduling(request.constraints)) return true;
    result.notes.push_back(
        absl::StrCat("several pipelines were not tried, as they run ",
                     ScheduleName(PipelineSchedule::kOneFOneB), " alone"));
    return false;
  }

  // Looks for several pipelines that are faster than that of `result`. The
  // scout plans their nodes, and all members those of the best.
  absl::Status TrySeveral(const PlanRequest& request, PlanObserver& observer,
                          PlanResult& result) {
    if (!MayCombine(request, result)) return absl::OkStatus();
    std::vector<std::string> everyone;
    for (const PortfolioMember& member : members_) {
      everyone.push_back(member.parallelizer);
    }
    std::vector<std::string> scout = everyone;
    if (Scout() != nullptr) scout = {std::string(kScout)};
    PortfolioPlanner quick(members_, ChoiceForGroups(), runtimes_,
                           MembersAsked::kSuitable);
    const auto plan_with = [&](PortfolioPlanner& planner,
                               const std::vector<std::string>& names) {
      return [&](const PlanRequest& part) -> absl::StatusOr<PlanResult> {
        TANGRAM_ASSIGN_OR_RETURN(
            PlanResult planned,
            planner.PlanFreelyWith(names, part, observer, kInfinity));
        TANGRAM_RETURN_IF_ERROR(
            SearchWhole(planner.choice_, part, {}, observer, planned));
        return planned;
      };
    };
    return Combine(request,
                   {.quick = plan_with(quick, scout),
                    .thorough = plan_with(*this, everyone)},
                   observer, result);
  }

  // Likewise for the runtime of the request, if it trains several pipelines.
  absl::Status TrySeveralForRuntime(const PlanRequest& request,
                                    PlanObserver& observer,
                                    PlanResult& result) {
    TANGRAM_ASSIGN_OR_RETURN(const PlanningRuntime* runtime,
                             runtimes_.Find(request.constraints.runtime));
    if (!runtime->TrainsPipelines() || !MayCombine(request, result)) {
      return absl::OkStatus();
    }
    PlanRequest as_trained = request;
    as_trained.training = runtime->Train(request.training);
    const PlannerChoice near = ChoiceForGroups();
    const auto thorough = [&](const PlanRequest& part) {
      return PlanOnce(part, observer);
    };
    const auto scouted =
        [&](const PlanRequest& part) -> absl::StatusOr<PlanResult> {
      if (Scout() == nullptr) return thorough(part);
      RuntimeSearch search(*runtime, near, part, observer);
      TANGRAM_RETURN_IF_ERROR(search.Scout(*Scout()));
      return search.Finish({});
    };
    return Combine(as_trained,
                   {.quick = scouted,
                    .thorough = thorough,
                    .takes =
                        [&](const ReplicatedPlan& plan) {
                          return runtime->CheckPipelines(as_trained, plan).ok();
                        }},
                   observer, result);
  }

  // Groups of nodes are polished a little while they are compared.
  PlannerChoice ChoiceForGroups() const {
    PlannerChoice choice = choice_;
    choice.search.polishes_far = false;
    return choice;
  }

  // Combines the plans of groups of nodes that the planners of `search` make,
  // and adds their stats to those of `result`.
  absl::Status Combine(const PlanRequest& request, PipelinesSearch search,
                       PlanObserver& observer, PlanResult& result) {
    PlanningStats stats = result.stats;
    for (PlanOnePipeline* const plan : {&search.quick, &search.thorough}) {
      *plan = [&stats, uncounted = std::move(*plan)](
                  const PlanRequest& part) -> absl::StatusOr<PlanResult> {
        TANGRAM_ASSIGN_OR_RETURN(PlanResult planned, uncounted(part));
        AddStats(planned.stats, stats);
        return planned;
      };
    }
    search.max_pipelines = choice_.search.max_pipelines;
    search.min_gain = choice_.search.min_island_gain;
    TANGRAM_RETURN_IF_ERROR(PlanPipelines(request, search, observer, result));
    result.stats = stats;
    return absl::OkStatus();
  }

  // Adds the bound for any plan at all, which also holds for every narrower
  // scope.
  static absl::Status Certify(const PlanRequest& request, PlanResult& result) {
    TANGRAM_ASSIGN_OR_RETURN(
        const std::vector<int> left_out,
        ExcludedNodes(request.constraints, request.cluster));
    Certificate certificate = result.certificate.value_or(Certificate());
    certificate.any_plan_s =
        AnyPlanSeconds(request.model, request.cluster, left_out,
                       result.training.value_or(request.training));
    certificate.asked_s = std::max(certificate.asked_s, certificate.any_plan_s);
    result.certificate = certificate;
    return absl::OkStatus();
  }

  // Adds to the reason of `result`, which has no plan, what to do.
  absl::Status Explain(const PlanRequest& request, PlanObserver& observer,
                       PlanResult& result) {
    TANGRAM_ASSIGN_OR_RETURN(const bool is_runtime_to_blame,
                             Blame(request, observer, result));
    result.infeasible->reason = WhyNone(result);
    if (is_runtime_to_blame) {
      absl::StrAppend(&result.infeasible->reason,
                      ". What to do: ", OtherRuntimes(request));
    }
    return absl::OkStatus();
  }

  // Names the constraints to blame for `result`, which has no plan. Returns
  // whether there would be one if the request named no runtime, of any kind at
  // least.
  absl::StatusOr<bool> Blame(const PlanRequest& request, PlanObserver& observer,
                             PlanResult& result) {
    const absl::StatusOr<const PlanningRuntime*> runtime =
        runtimes_.Find(request.constraints.runtime);
    // No other constraint matters if the runtime takes no plan at all.
    if (runtime.ok() && !CheckRuntime(**runtime, request).ok()) return true;
    PlanConstraints others = request.constraints;
    others.runtime.clear();
    bool is_runtime_to_blame = false;
    const auto plan =
        [&](const PlanRequest& asked) -> absl::StatusOr<PlanResult> {
      // Whether there is a plan of any kind needs no search for each runtime.
      const bool freely =
          asked.constraints.runtime.empty() && PlansFreely(asked.model);
      TANGRAM_ASSIGN_OR_RETURN(
          PlanResult found,
          freely ? PlanFreely(asked, observer) : PlanOnce(asked, observer));
      is_runtime_to_blame |=
          asked.constraints == others && found.plan.has_value();
      return found;
    };
    TANGRAM_RETURN_IF_ERROR(
        NameConstraints(ToBlame(request, result), plan, result));
    return is_runtime_to_blame && runtime.ok();
  }

  // Returns what to plan with instead of the runtime of the request.
  std::string OtherRuntimes(const PlanRequest& request) const {
    std::vector<absl::string_view> others;
    for (const PlanningRuntime* other : runtimes_.All()) {
      if (other->name() == request.constraints.runtime) continue;
      if (CheckRuntime(*other, request).ok()) others.push_back(other->name());
    }
    if (others.empty()) {
      return "plan with --runtime any, as no framework takes the request";
    }
    return absl::StrCat(
        "plan with --runtime auto, which finds the fastest plan for ",
        absl::StrJoin(others, ", "));
  }

  // Returns the request whose constraints may be to blame for `result`, which
  // has no plan. Runtime auto is not if there is no plan of any kind either, or
  // if it is the only constraint: the reason says so.
  static PlanRequest ToBlame(const PlanRequest& request,
                             const PlanResult& result) {
    PlanRequest blamed = request;
    if (request.constraints.runtime != kAutoRuntime) return blamed;
    blamed.constraints.runtime.clear();
    if (result.alternatives.back().iteration_time_s.has_value() &&
        !blamed.constraints.none()) {
      blamed.constraints.runtime = kAutoRuntime;
    }
    return blamed;
  }

  // Returns whether a member plans without a runtime.
  bool PlansFreely(const ModelSpec& model) const {
    return Asked(runtimes_.FreeParallelizers(model)).ok();
  }

  absl::StatusOr<PlanResult> PlanOnce(const PlanRequest& request,
                                      PlanObserver& observer) {
    const std::string& name = request.constraints.runtime;
    if (name.empty() || name == kAutoRuntime) {
      return PlanForAll(request, observer);
    }
    TANGRAM_ASSIGN_OR_RETURN(const PlanningRuntime* runtime,
                             runtimes_.Find(name));
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<PortfolioMember> members,
                             Asked(runtime->Parallelizers(request.model)));
    return PlanForRuntime(members, Scout(), choice_, *runtime, request,
                          observer);
  }

  // Plans for any runtime, or of any kind if the request names none. Members
  // that the caller named plan of any kind as they do alone, which takes a
  // third of the time.
  absl::StatusOr<PlanResult> PlanForAll(const PlanRequest& request,
                                        PlanObserver& observer) {
    const bool is_of_any_kind = request.constraints.runtime.empty();
    if (is_of_any_kind && asked_ == MembersAsked::kAll) {
      return PlanFreely(request, observer);
    }
    const auto asked = [this](absl::Span<const std::string> suitable) {
      return Asked(suitable);
    };
    const auto plan_freely = [&](const PlanRequest& free,
                                 absl::Span<const std::string> suitable,
                                 double incumbent_s) {
      // Beside a plan for a runtime, one of any kind is a hint.
      PlannerChoice choice = choice_;
      choice.search.polishes_far &= is_of_any_kind || incumbent_s == kInfinity;
      PortfolioPlanner freely(members_, std::move(choice), runtimes_, asked_);
      return freely.PlanFreelyWith(suitable, free, observer, incumbent_s);
    };
    const AnyRuntimeSearch search{.choice = choice_,
                                  .runtimes = runtimes_,
                                  .asked = asked,
                                  .scout = Scout(),
                                  .plan_freely = plan_freely};
    return is_of_any_kind ? PlanOfAnyKind(search, request, observer)
                          : PlanForAnyRuntime(search, request, observer);
  }

  // Returns the member that may scout for a runtime (RuntimeMembers); null:
  // none.
  SlicePlanSource* Scout() const {
    const auto scout =
        absl::c_find_if(members_, [](const PortfolioMember& member) {
          return member.parallelizer == kScout;
        });
    return scout == members_.end() ? nullptr : scout->source;
  }

  // Returns the members that a search asks if `suitable` suit it.
  // kUnavailable: none of these is a member.
  absl::StatusOr<std::vector<PortfolioMember>> Asked(
      absl::Span<const std::string> suitable) const {
    if (asked_ == MembersAsked::kAll) return members_;
    std::vector<PortfolioMember> asked;
    for (const PortfolioMember& member : members_) {
      if (absl::c_linear_search(suitable, member.parallelizer)) {
        asked.push_back(member);
      }
    }
    if (!asked.empty()) return asked;
    return absl::UnavailableError(absl::StrCat(
        "parallelizer: ", absl::StrJoin(suitable, ", "),
        ": not offered; expected one of ",
        absl::StrJoin(members_, ", ", [](std::string* out, const auto& member) {
          out->append(member.parallelizer);
        })));
  }

  // Plans without a runtime: each member alone, then mixes. A single member
  // needs no comparison.
  absl::StatusOr<PlanResult> PlanFreely(const PlanRequest& request,
                                        PlanObserver& observer) {
    return PlanFreelyWith(runtimes_.FreeParallelizers(request.model), request,
                          observer, /*incumbent_s=*/kInfinity);
  }

  // Likewise with the members that are asked if `suitable` suit the search.
  // Plans slower than the incumbent are of no use.
  absl::StatusOr<PlanResult> PlanFreelyWith(
      absl::Span<const std::string> suitable, const PlanRequest& request,
      PlanObserver& observer, double incumbent_s) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<PortfolioMember> members,
                             Asked(suitable));
    if (members.size() == 1) {
      return PlanOne(*members.front().source, request, observer, incumbent_s);
    }
    Answer answer{.incumbent_s = incumbent_s};
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<PortfolioMember> mixable,
                             PlanAlone(members, request, observer, answer));
    if (!answer.best.has_value()) {
      return absl::UnimplementedError(
          absl::StrCat("parallelizer: no member knows the model: ",
                       answer.alternatives.front().reason));
    }
    if (mixable.size() > 1 && choice_.planner->features.mixes_parallelizers) {
      TANGRAM_RETURN_IF_ERROR(PlanMixes(mixable, request, observer, answer));
    }
    PlanResult result = *std::move(answer.best);
    result.alternatives = std::move(answer.alternatives);
    result.stats = answer.stats;
    result.lower_bound_s = answer.lower_bound_s;
    result.certificate = answer.scope;
    AddLimits(answer.left_out, result.notes);
    if (!result.plan.has_value()) {
      AddLimits(answer.left_out, answer.limits);
      result.limits = std::move(answer.limits);
    }
    return result;
  }

  // Plans with one member. Unless somebody named it, the scout's plan limits
  // its search, and is the answer if it is faster.
  absl::StatusOr<PlanResult> PlanOne(SlicePlanSource& source,
                                     const PlanRequest& request,
                                     PlanObserver& observer,
                                     double incumbent_s) {
    SlicePlanSource* scout = Scout();
    PipelineRules rules{.incumbent_s = incumbent_s};
    if (asked_ == MembersAsked::kAll || scout == nullptr || scout == &source ||
        !scout->SliceModel(request.model).ok()) {
      return PlanWithSplits(choice_, source, rules, request, observer);
    }
    TANGRAM_ASSIGN_OR_RETURN(
        PlanResult scouted,
        PlanWithSplits(choice_, *scout, rules, request, observer));
    rules.incumbent_s = std::min(incumbent_s, IncumbentSeconds(scouted));
    TANGRAM_ASSIGN_OR_RETURN(
        PlanResult result,
        PlanWithSplits(choice_, source, rules, request, observer));
    KeepLeastBound(scouted, result.lower_bound_s);
    std::optional<Certificate> scope = result.certificate;
    Widen(scouted, scope);
    if (scouted.plan.has_value() && IsBetter(scouted, result)) {
      std::swap(scouted, result);
      result.lower_bound_s = scouted.lower_bound_s;
    }
    result.certificate = scope;
    AddStats(scouted.stats, result.stats);
    return result;
  }

  // Adds one result, and keeps the better plan; of equal ones the first in the
  // order of `rank`. Returns the entry for the alternatives.
  static PlanAlternative Take(PlanResult result, const PipelineRules& rules,
                              std::vector<std::string> parallelizers,
                              absl::string_view runtime, size_t rank,
                              Answer& answer) {
    AddStats(result.stats, answer.stats);
    AddLimits(result.limits, answer.limits);
    KeepLeastBound(result, answer.lower_bound_s);
    Widen(result, answer.scope);
    PlanAlternative alternative =
        AlternativeOf(result, std::move(parallelizers), runtime);
    if (!result.plan.has_value() && rules.incumbent_s < kInfinity) {
      alternative.reason = absl::StrCat("no plan that takes less than ",
                                        FormatSeconds(rules.incumbent_s));
    }
    const bool is_best =
        !answer.best.has_value() || IsBetter(result, *answer.best) ||
        (rank < answer.rank && !IsBetter(*answer.best, result));
    if (is_best) {
      answer.best = std::move(result);
      answer.rank = rank;
    }
    return alternative;
  }

  // Returns the indices of `members`, that of the scout first.
  std::vector<size_t> ScoutFirst(
      const std::vector<PortfolioMember>& members) const {
    std::vector<size_t> order(members.size());
    absl::c_iota(order, size_t{0});
    const SlicePlanSource* scout = Scout();
    absl::c_stable_partition(
        order, [&](size_t i) { return members[i].source == scout; });
    return order;
  }

  // Plans with each member alone. The best so far limits the searches of the
  // others, so the scout goes first. Returns the members that can be mixed.
  absl::StatusOr<std::vector<PortfolioMember>> PlanAlone(
      const std::vector<PortfolioMember>& members, const PlanRequest& request,
      PlanObserver& observer, Answer& answer) {
    MixableMembers mixable;
    std::vector<bool> knows(members.size());
    answer.alternatives.resize(members.size());
    for (size_t i = 0; i < members.size(); ++i) {
      absl::StatusOr<std::vector<ModelSlice>> atoms =
          members[i].source->SliceModel(request.model);
      if (absl::IsUnimplemented(atoms.status())) {
        answer.alternatives[i] = {
            .parallelizers = {members[i].parallelizer},
            .reason = std::string(atoms.status().message())};
        continue;
      }
      TANGRAM_RETURN_IF_ERROR(atoms.status());
      mixable.Add(members[i], *std::move(atoms));
      knows[i] = true;
    }
    for (const size_t i : ScoutFirst(members)) {
      if (!knows[i]) continue;
      const PipelineRules rules{.incumbent_s = answer.IncumbentToBeat()};
      TANGRAM_ASSIGN_OR_RETURN(
          PlanResult result, PlanWithSplits(choice_, *members[i].source, rules,
                                            request, observer));
      answer.alternatives[i] = Take(std::move(result), rules,
                                    {members[i].parallelizer}, "", i, answer);
    }
    if (choice_.planner->features.mixes_parallelizers) {
      answer.left_out = mixable.left_out();
    }
    return mixable.members();
  }

  // Plans with the mix of `members` once for each of the widest runtimes.
  absl::Status PlanMixes(const std::vector<PortfolioMember>& members,
                         const PlanRequest& request, PlanObserver& observer,
                         Answer& answer) {
    std::vector<SlicePlanSource*> sources;
    std::vector<std::string> names;
    for (const PortfolioMember& member : members) {
      sources.push_back(member.source);
      names.push_back(member.parallelizer);
    }
    for (const Runtime* runtime : Widest(runtimes_.KnownRuntimes())) {
      const auto source = CreateMixedSource(sources, choice_.search.tasks);
      PipelineRules rules = RulesOf(*runtime);
      rules.incumbent_s = answer.IncumbentToBeat();
      TANGRAM_ASSIGN_OR_RETURN(
          PlanResult result,
          PlanWithSplits(choice_, *source, rules, request, observer));
      const size_t rank = answer.alternatives.size();
      answer.alternatives.push_back(
          Take(std::move(result), rules, names, runtime->name, rank, answer));
    }
    return absl::OkStatus();
  }

  const std::vector<PortfolioMember> members_;
  PlannerChoice choice_;  // Does not change after the constructor.
  const RuntimeCatalogue& runtimes_;
  const MembersAsked asked_;
};

}  // namespace

std::unique_ptr<ClusterPlanner> CreatePortfolioPlanner(
    std::vector<PortfolioMember> members, PlannerChoice choice,
    const RuntimeCatalogue& runtimes, MembersAsked asked) {
  const double min_island_gain = choice.search.min_island_gain;
  return CreateEitherPrecisionPlanner(
      std::make_unique<PortfolioPlanner>(std::move(members), std::move(choice),
                                         runtimes, asked),
      min_island_gain);
}

}  // namespace tangram
