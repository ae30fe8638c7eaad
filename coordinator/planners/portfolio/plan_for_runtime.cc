#include "coordinator/planners/portfolio/plan_for_runtime.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/planners/portfolio/combine_results.h"
#include "coordinator/planners/portfolio/mixable_members.h"
#include "coordinator/planners/portfolio/mixed_source.h"
#include "frameworks/losses.h"
#include "frameworks/runtime_rules.h"

namespace tangram {
namespace {

// Members that know the model and cut it into the same atoms as the first of
// them.
absl::StatusOr<std::vector<PortfolioMember>> Mixable(
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
  return mixable.members();
}

class RuntimeSearch {
 public:
  RuntimeSearch(const RuntimeRules& rules, const PlannerChoice& choice,
                const PlanRequest& request, PlanObserver& observer)
      : rules_(rules), choice_(choice), request_(request), observer_(observer) {
    if (rules.train != nullptr) {
      request_.training = rules.train(request.training);
    }
  }

  const PlanRequest& request() const { return request_; }

  absl::StatusOr<PlanResult> Run(absl::Span<const PortfolioMember> members) {
    TANGRAM_ASSIGN_OR_RETURN(
        std::vector<Island> islands,
        choice_.Create(*members.front().source, {})->Islands(request_));
    const absl::Status known =
        rules_.check == nullptr
            ? absl::OkStatus()
            : rules_.check(request_.model, request_.training);
    if (!known.ok()) {
      return PlanResult{
          .islands = std::move(islands),
          .infeasible = Infeasible{
              .reason = absl::StrCat(rules_.name, ": ", known.message())}};
    }
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<PortfolioMember> mixable,
                             Mixable(members, request_.model));
    std::vector<SlicePlanSource*> sources;
    for (const PortfolioMember& member : mixable) {
      sources.push_back(member.source);
    }
    const auto source = CreateMixedSource(sources);
    const std::vector<RuntimeVariant> variants = Variants(islands);
    for (const RuntimeVariant& variant : variants) {
      TANGRAM_RETURN_IF_ERROR(Try(variant, *source));
    }
    PlanResult result = *std::move(best_);
    result.stats = stats_;
    result.lower_bound_s = lower_bound_s_;
    if (!result.plan.has_value()) result.infeasible = std::move(closest_);
    result.notes.push_back(
        absl::StrCat("runtime ", rules_.name, ": ", variants.size(),
                     variants.size() == 1 ? " search"
                                          : " searches, one for each value "
                                            "of what its stages share"));
    return result;
  }

 private:
  std::vector<RuntimeVariant> Variants(absl::Span<const Island> islands) const {
    std::vector<IslandSpec> specs;
    for (const Island& island : islands) specs.push_back(island.spec);
    std::vector<int> tp_degrees;
    for (const IslandValue& tp : request_.constraints.tp_degrees) {
      tp_degrees.push_back(tp.value);
    }
    return VariantsOf(rules_, request_.model, request_.training, specs,
                      tp_degrees);
  }

  absl::Status Try(const RuntimeVariant& variant, SlicePlanSource& source) {
    PipelineRules rules{
        .runtime = &rules_.stage,
        .stages = variant.stages,
        .ends = variant.ends,
        .gpus_per_node = variant.gpus_per_node,
        .fit = [this](const PlanRequest& request, const PipelinePlan& plan) {
          return FitPlan(rules_, {.cluster = request.cluster,
                                  .model = request.model,
                                  .training = request.training,
                                  .plan = plan});
        }};
    rules.accepts_gpus = rules_.accepts_gpus;
    if (best_.has_value() && best_->plan.has_value()) {
      rules.incumbent_s = best_->closed_form_s;
    }
    TANGRAM_ASSIGN_OR_RETURN(
        PlanResult result,
        CreateJudgedPlanner(choice_, source, rules)->Plan(request_, observer_));
    AddStats(result.stats, stats_);
    KeepLeastBound(result, lower_bound_s_);
    KeepClosest(result.infeasible, closest_);
    if (!best_.has_value() || IsBetter(result, *best_)) {
      best_ = std::move(result);
    }
    return absl::OkStatus();
  }

  const RuntimeRules& rules_;
  const PlannerChoice& choice_;
  PlanRequest request_;
  PlanObserver& observer_;
  std::optional<PlanResult> best_;
  std::optional<Infeasible> closest_;
  PlanningStats stats_;
  double lower_bound_s_ = 0;
};

// How `runtime` trains, and a note for each option that it does not have.
void NoteTraining(const PlanRequest& request, const TrainingOptions& training,
                  PlanResult& result) {
  if (training == request.training) return;
  result.training = training;
  const PipelinePlan nothing;
  for (const std::string& loss :
       ListLosses({.training = request.training}, training, nothing)) {
    result.notes.push_back(
        absl::StrCat("runtime ", request.constraints.runtime, ": ", loss));
  }
}

}  // namespace

absl::StatusOr<PlanResult> PlanForRuntime(
    absl::Span<const PortfolioMember> members, const PlannerChoice& choice,
    const PlanRequest& request, PlanObserver& observer) {
  TANGRAM_ASSIGN_OR_RETURN(const RuntimeRules* rules,
                           FindRuntimeRules(request.constraints.runtime));
  RuntimeSearch search(*rules, choice, request, observer);
  TANGRAM_ASSIGN_OR_RETURN(PlanResult result, search.Run(members));
  NoteTraining(request, search.request().training, result);
  return result;
}

}  // namespace tangram
