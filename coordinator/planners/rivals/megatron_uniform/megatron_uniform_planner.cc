#include "coordinator/planners/rivals/megatron_uniform/megatron_uniform_planner.h"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/stage_rules.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/rivals/listed/listed_search.h"
#include "coordinator/planners/rivals/megatron_uniform/uniform_strategies.h"
#include "coordinator/planners/whole_cluster/stand_in_island.h"

namespace tangram {
namespace {

constexpr char kName[] = "megatron-uniform";

// Every plan uses the whole cluster, so it is one island. Choosing among
// islands then plays no part.
absl::StatusOr<std::vector<Island>> WholeCluster(const PlanRequest& request,
                                                 PlanObserver& /*observer*/) {
  if (request.cluster->nodes.empty()) {
    return absl::InvalidArgumentError("cluster.nodes: none; expected a node");
  }
  std::vector<int> nodes(request.cluster->nodes.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  return std::vector<Island>{
      MakeStandIn(request.cluster, nodes, NodeOrder::kAsListed).island};
}

PipelinePlan Place(const PlanRequest& request,
                   const std::vector<Island>& islands,
                   const UniformStrategy& strategy) {
  const int tp = strategy.tp_degree;
  const StageParallelism parallelism{
      .tp_degree = tp,
      .dp_degree = strategy.dp_degree,
      .zero_stage = strategy.dp_degree > 1 ? 1 : 0,
      .sequence_parallel =
          tp > 1 &&
          SplitsSequenceForTp(request.training.sequence_length, 1, tp)};
  const std::vector<GpuId> gpus = GpusInOrder(request.cluster);
  const std::vector<int> bounds =
      UniformBounds(request.model.num_layers(), strategy);
  PipelinePlan plan{.pipeline_microbatch_size =
                        strategy.samples * strategy.dp_degree};
  auto next = gpus.begin();
  for (int s = 0; s < strategy.num_stages; ++s) {
    PlacedStage& stage = plan.stages.emplace_back();
    stage.plan = WholeLayers(request.model, bounds[s], bounds[s + 1],
                             parallelism, strategy.recompute);
    stage.gpus.assign(next, next + parallelism.num_gpus());
    next += parallelism.num_gpus();
  }
  NamePlaces(islands, kName, plan);
  return plan;
}

absl::StatusOr<ListedPlans> List(const PlanRequest& request,
                                 const std::vector<Island>& islands,
                                 PlanObserver& observer) {
  // An error for a batch out of range.
  TANGRAM_RETURN_IF_ERROR(MicrobatchSizes(request).status());
  observer.OnPhase(PlanPhase::kEnumeration);
  if (observer.ShouldStop()) return absl::CancelledError("planning stopped");
  ListedPlans plans;
  for (const UniformStrategy& strategy :
       UniformStrategies(request.model, request.cluster,
                         request.training.global_batch_size)) {
    plans.proposals.push_back({.make_plan = [&request, islands, strategy] {
      return Place(request, islands, strategy);
    }});
  }
  plans.notes.push_back(
      absl::StrCat("planner megatron-uniform: ", plans.proposals.size(),
                   " strategies scored"));
  if (plans.proposals.empty()) {
    plans.why_none = {.reason = absl::StrCat(
                          "no tp x pp x dp uses all ",
                          request.cluster->num_gpus(),
                          " GPUs with dp a divisor of the batch, ",
                          request.training.global_batch_size, ", and at most ",
                          request.model.num_layers(), " stages")};
  }
  return plans;
}

}  // namespace

std::unique_ptr<Planner> CreateMegatronUniformPlanner() {
  return CreateListedPlanner(List, ProposeAtOnce, WholeCluster);
}

PlannerInfo MegatronUniformPlanner() {
  return {
      .name = kName,
      .description =
          "equal stages and one tp x pp x dp for all GPUs, the fastest of all",
      .origin = "Megatron-LM, SC 2021",
      .apply = ProposeUnpolished,
      .create = [](SlicePlanSource&, const TangramOptions&,
                   const PlannerOptionValues&, const PipelineRules&) {
        return CreateMegatronUniformPlanner();
      }};
}

}  // namespace tangram
