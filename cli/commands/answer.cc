#include "cli/commands/answer.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "cli/args/prices.h"
#include "cli/print/answer_json.h"
#include "cli/print/plan_figures.h"
#include "common/base/status_macros.h"
#include "common/planner/fastest_on_own_data.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/evaluate_replicated_plan.h"
#include "common/sim/guesses.h"
#include "frameworks/framework_catalogue.h"

namespace tangram {
namespace {

std::vector<GpuId> GpusOf(const PlanResult& result) {
  std::vector<GpuId> gpus;
  for (const EvaluatedPlan& pipeline : PipelinesOf(result)) {
    for (const PlacedStage& stage : pipeline.plan.stages) {
      gpus.insert(gpus.end(), stage.gpus.begin(), stage.gpus.end());
    }
  }
  return gpus;
}

// Evaluates the plan of `file` on `cluster`.
absl::StatusOr<double> SecondsOn(const Cluster& cluster, const PlanFile& file) {
  const PlanResult& result = file.result;
  if (result.replicated_plan) {
    TANGRAM_ASSIGN_OR_RETURN(
        const ReplicatedEvaluation evaluation,
        EvaluateReplicatedPlan(file.model, cluster, file.training,
                               *result.replicated_plan));
    return evaluation.iteration_time_s;
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const Evaluation evaluation,
      EvaluatePlan(file.model, cluster, file.training, *result.plan));
  return evaluation.iteration_time_s;
}

// Returns the framework that the plan was made for; empty: for none.
std::string PlannedFor(const PlanFile& file) {
  if (file.constraints.runtime != kAutoRuntime) return file.constraints.runtime;
  const PlanAlternative* fastest = nullptr;
  for (const PlanAlternative& other : file.result.alternatives) {
    if (other.runtime == kAnyRuntime || !other.iteration_time_s) continue;
    if (fastest == nullptr ||
        *other.iteration_time_s < *fastest->iteration_time_s) {
      fastest = &other;
    }
  }
  return fastest == nullptr ? "" : fastest->runtime;
}

// Returns the price of an hour of the nodes that have these GPUs.
double PricePerHour(const PlanFile& file, const std::vector<double>& prices,
                    const std::vector<GpuId>& gpus) {
  std::set<int> nodes;
  for (const GpuId& gpu : gpus) nodes.insert(gpu.node);
  double price = 0;
  for (const int node : nodes) price += prices[file.cluster->nodes[node].group];
  return price;
}

// Returns that of all nodes.
double PricePerHour(const PlanFile& file, const std::vector<double>& prices) {
  double price = 0;
  for (const Node& node : file.cluster->nodes) price += prices[node.group];
  return price;
}

}  // namespace

absl::StatusOr<AnswerView> ViewOf(const PlanFile& file,
                                  const AnswerChoice& answer,
                                  const std::string& plan_path) {
  AnswerView view{.file = file,
                  .plan_path = plan_path,
                  .tokens = answer.tokens,
                  .detail = answer.detail};
  std::vector<double> prices;
  if (!answer.prices.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(prices,
                             ParsePrices(answer.prices, file.cluster->groups));
  }
  const PlanResult& result = file.result;
  if (!result.has_plan()) return view;
  const std::vector<GpuId> gpus = GpusOf(result);
  if (!prices.empty()) {
    view.price_per_hour = PricePerHour(file, prices, gpus);
    view.price_per_hour_of_all = PricePerHour(file, prices);
  }
  if (result.plan) {
    view.takers = TakersOf({.cluster = file.cluster,
                            .model = file.model,
                            .training = file.training,
                            .plan = *result.plan});
    absl::c_stable_partition(
        view.takers, [planned = PlannedFor(file)](const PlanTaker& taker) {
          return taker.framework == planned;
        });
    if (absl::c_none_of(view.takers, [](const PlanTaker& taker) {
          return taker.reads_data;
        })) {
      view.on_own_data =
          FastestOnOwnData(result.alternatives, FrameworkCatalogue());
    }
  }
  if (answer.detail == Detail::kBrief) return view;
  view.guesses = EffectsOf(
      GuessesOf(file.cluster, file.training.precision, gpus), file.cluster,
      result.iteration_time_s(),
      [&](const Cluster& cluster) { return SecondsOn(cluster, file); });
  return view;
}

absl::Status PrintAnswerOf(const PlanFile& file, const AnswerChoice& answer,
                           const std::string& plan_path, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const AnswerView view,
                           ViewOf(file, answer, plan_path));
  if (console.format == OutputFormat::kJson) {
    return PrintAnswerAsJson(view, console);
  }
  PrintAnswer(view, console);
  return absl::OkStatus();
}

}  // namespace tangram
