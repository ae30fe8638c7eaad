#include "coordinator/planners/portfolio/plan_for_runtime.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "common/planner/keep_closest.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/polish/polish_result.h"
#include "coordinator/planners/portfolio/combine_results.h"
#include "coordinator/planners/portfolio/mixable_members.h"
#include "coordinator/planners/portfolio/mixed_source.h"

namespace tangram {
namespace {

// Returns the members that know the model and cut it into the same atoms as the
// first of them. kUnimplemented if none knows the model.
absl::StatusOr<MixableMembers> Mixable(
    absl::Span<const PortfolioMember> members, const ModelSpec& model) {
  MixableMembers mixable;
  absl::Status unknown;
  for (const PortfolioMember& member : members) {
    absl::StatusOr<std::vector<ModelSlice>> atoms =
        member.source->SliceModel(model);
    if (absl::IsUnimplemented(atoms.status())) {
      unknown = atoms.status();
      continue;
    }
    TANGRAM_RETURN_IF_ERROR(atoms.status());
    mixable.Add(member, *std::move(atoms));
  }
  if (mixable.members().empty()) return unknown;
  return mixable;
}

// Returns the collective libraries of the cluster's GPUs, in order. One launch
// has one of them. If there is only one, GPUs need not be told apart.
std::vector<std::optional<CollectiveLibrary>> LibrariesOf(
    const Cluster& cluster) {
  std::set<CollectiveLibrary> all;
  for (const Node& node : cluster.nodes) {
    all.insert(node.device.collective_library);
  }
  if (all.size() < 2) return {std::nullopt};
  return {all.begin(), all.end()};
}

// Plans for one runtime, with the training options that it supports.
class RuntimeSearch {
 public:
  RuntimeSearch(const RuntimeMembers& asked, const PlanningRuntime& runtime,
                const PlannerChoice& choice, const PlanRequest& request,
                PlanObserver& observer)
      : asked_(asked),
        runtime_(runtime),
        choice_(choice),
        request_(request),
        observer_(observer) {
    request_.training = runtime.Train(request.training);
  }

  const PlanRequest& request() const { return request_; }

  absl::StatusOr<PlanResult> Run() {
    TANGRAM_ASSIGN_OR_RETURN(std::vector<Island> islands,
                             choice_.Create(*asked_.members.front().source, {})
                                 ->Islands(request_, observer_));
    const absl::Status refusal = CheckRuntime(runtime_, request_);
    if (!refusal.ok()) {
      return PlanResult{
          .islands = std::move(islands),
          .infeasible = Infeasible{.reason = absl::StrCat(runtime_.name(), ": ",
                                                          refusal.message())}};
    }
    TANGRAM_ASSIGN_OR_RETURN(const MixableMembers mixable,
                             Mixable(asked_.members, request_.model));
    const auto libraries = LibrariesOf(request_.cluster);
    const std::vector<RuntimeVariant> variants = Variants(islands);
    std::vector<Attempt> attempts;
    for (const std::optional<CollectiveLibrary>& library : libraries) {
      for (const RuntimeVariant& variant : variants) {
        attempts.push_back({variant, library});
      }
    }
    TANGRAM_RETURN_IF_ERROR(Scout(mixable, attempts));
    AddLimits(mixable.left_out(), limits_);
    TANGRAM_RETURN_IF_ERROR(TryAll(mixable, attempts));
    PlanResult result = *std::move(best_);
    result.stats = stats_;
    result.lower_bound_s = lower_bound_s_;
    if (choice_.search.polish &&
        result.evaluation.iteration_time_s <= asked_.worth_polishing_s) {
      TANGRAM_RETURN_IF_ERROR(
          PolishResult(request_, best_rules_, observer_, result));
    }
    if (!result.plan.has_value()) {
      result.infeasible = std::move(closest_);
      result.limits = std::move(limits_);
    }
    AddLimits(mixable.left_out(), result.notes);
    result.notes.push_back(
        absl::StrCat("runtime ", runtime_.name(), ": ", variants.size(),
                     variants.size() == 1 ? " search"
                                          : " searches, one for each value "
                                            "of what its stages share"));
    if (libraries.size() > 1) {
      result.notes.push_back(absl::StrCat(
          "runtime ", runtime_.name(), ": planned for the GPUs of ",
          absl::StrJoin(libraries, ", of ",
                        [](std::string* out, const auto& library) {
                          absl::StrAppend(out, CollectiveLibraryName(*library));
                        }),
          " alone, as their collectives do not talk to each other"));
    }
    return result;
  }

 private:
  // One search.
  struct Attempt {
    RuntimeVariant variant;
    // The collective library of the GPUs; none: any GPUs.
    std::optional<CollectiveLibrary> library;
    double scouted_s = kInfinity;  // The scout's plan, if it was the best.
  };

  // Lets the scout try first, and moves forward what it found good plans for.
  // A good plan limits all later searches.
  absl::Status Scout(const MixableMembers& mixable,
                     std::vector<Attempt>& attempts) {
    const std::vector<PortfolioMember>& members = mixable.members();
    const bool is_alone =
        members.size() == 1 && members.front().source == asked_.scout;
    if (asked_.scout == nullptr || is_alone || attempts.size() == 1 ||
        !asked_.scout->SliceModel(request_.model).ok()) {
      return absl::OkStatus();
    }
    for (Attempt& attempt : attempts) {
      PipelineRules rules = RulesOf(attempt);
      rules.persists = false;
      TANGRAM_ASSIGN_OR_RETURN(PlanResult result, Try(rules, *asked_.scout));
      if (!result.plan.has_value()) continue;
      attempt.scouted_s = result.evaluation.iteration_time_s;
      Keep(attempt, std::move(result));
    }
    absl::c_stable_sort(attempts, [](const Attempt& a, const Attempt& b) {
      return a.scouted_s < b.scouted_s;
    });
    return absl::OkStatus();
  }

  absl::Status TryAll(const MixableMembers& mixable,
                      absl::Span<const Attempt> attempts) {
    std::vector<SlicePlanSource*> sources;
    for (const PortfolioMember& member : mixable.members()) {
      sources.push_back(member.source);
    }
    const auto source = CreateMixedSource(sources);
    for (const Attempt& attempt : attempts) {
      TANGRAM_ASSIGN_OR_RETURN(PlanResult result,
                               Try(RulesOf(attempt), *source));
      KeepLeastBound(result, lower_bound_s_);
      KeepClosest(result.infeasible, closest_);
      AddLimits(result.limits, limits_);
      Keep(attempt, std::move(result));
    }
    return absl::OkStatus();
  }

  // Returns the variants of the runtime: one for each value of the properties
  // that its stages share.
  std::vector<RuntimeVariant> Variants(absl::Span<const Island> islands) const {
    std::vector<IslandSpec> specs;
    for (const Island& island : islands) specs.push_back(island.spec);
    std::vector<int> tp_degrees;
    for (const IslandValue& tp : request_.constraints.tp_degrees) {
      tp_degrees.push_back(tp.value);
    }
    return runtime_.Variants(request_.model, request_.training, specs,
                             tp_degrees);
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
        .incumbent_s = asked_.incumbent_s};
    if (best_.has_value() && best_->plan.has_value()) {
      // Fit changes plans, so the plan that runs may be slower than composed.
      rules.incumbent_s = std::min(
          rules.incumbent_s,
          std::max(best_->closed_form_s, best_->evaluation.iteration_time_s));
    }
    return rules;
  }

  // Searches for one plan.
  absl::StatusOr<PlanResult> Try(const PipelineRules& rules,
                                 SlicePlanSource& source) {
    TANGRAM_ASSIGN_OR_RETURN(
        PlanResult result,
        CreateJudgedPlanner(choice_, source, rules)->Plan(request_, observer_));
    AddStats(result.stats, stats_);
    return result;
  }

  // Keeps the better plan.
  void Keep(const Attempt& attempt, PlanResult result) {
    if (best_.has_value() && !IsBetter(result, *best_)) return;
    best_rules_ = RulesOf(attempt);
    best_ = std::move(result);
  }

  const RuntimeMembers& asked_;
  const PlanningRuntime& runtime_;
  const PlannerChoice& choice_;
  PlanRequest request_;
  PlanObserver& observer_;
  std::optional<PlanResult> best_;
  PipelineRules best_rules_;  // With which `best_` was found.
  std::optional<Infeasible> closest_;
  std::vector<std::string> limits_;  // All limits of attempts without a plan.
  PlanningStats stats_;
  double lower_bound_s_ = 0;
};

// Notes each difference between what `asked` asks for and what `runtime` does.
// `planned` is the request with the options with which it trains.
void NoteLosses(const PlanningRuntime& runtime, const PlanRequest& asked,
                const PlanRequest& planned, PlanResult& result) {
  std::vector<std::string> losses;
  if (planned.training != asked.training) {
    result.training = planned.training;
    losses = runtime.TrainingLosses(asked.training);
  }
  if (result.plan.has_value()) {
    AddLimits(runtime.FrameworkLosses(planned, *result.plan), losses);
  }
  for (const std::string& loss : losses) {
    result.notes.push_back(
        absl::StrCat("runtime ", runtime.name(), ": ", loss));
  }
}

}  // namespace

absl::Status CheckRuntime(const PlanningRuntime& runtime,
                          const PlanRequest& request) {
  Obstacles obstacles;
  obstacles.Add(runtime.Check(request.model, runtime.Train(request.training)));
  std::set<std::string> of_devices;
  for (const Node& node : request.cluster->nodes) {
    of_devices.insert(runtime.WhyNotDevice(node.device));
  }
  if (!of_devices.contains("")) {
    for (const std::string& why : of_devices) {
      obstacles.Add(absl::InvalidArgumentError(why));
    }
  }
  return obstacles.AsStatus();
}

absl::StatusOr<PlanResult> PlanForRuntime(const RuntimeMembers& asked,
                                          const PlannerChoice& choice,
                                          const PlanningRuntime& runtime,
                                          const PlanRequest& request,
                                          PlanObserver& observer) {
  RuntimeSearch search(asked, runtime, choice, request, observer);
  TANGRAM_ASSIGN_OR_RETURN(PlanResult result, search.Run());
  NoteLosses(runtime, request, search.request(), result);
  return result;
}

}  // namespace tangram
