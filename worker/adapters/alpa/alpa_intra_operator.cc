#include "worker/adapters/alpa/alpa_intra_operator.h"

#include <algorithm>
#include <optional>

#include "common/cost/stage_cost.h"
#include "worker/adapters/alpa/alpa_sharding_ilp.h"

namespace tangram::alpa {
namespace {

// Returns whether an operator processes tokens grouped by expert.
bool IsOnExperts(OpKind op) {
  switch (op) {
    case OpKind::kExpertDispatch:
    case OpKind::kExpertUp:
    case OpKind::kExpertActivation:
    case OpKind::kExpertDown:
    case OpKind::kExpertCombine:
      return true;
    default:
      return false;
  }
}

// Returns the operator's cost in the unit of `aim`: seconds or bytes.
double CostOf(const LayerSpec& layer, OpKind op,
              const StageParallelism& parallelism,
              const StageEnvironment& environment, ShardingAim aim) {
  const OperatorCost cost =
      EstimateOperator(layer, op, parallelism, environment);
  if (aim == ShardingAim::kSeconds) return cost.forward_s + cost.backward_s;
  return cost.saved_bytes + ModelStateBytes({.dense = cost.dense_parameters,
                                             .expert = cost.expert_parameters},
                                            parallelism, environment.training);
}

// Neighbouring operators must use the same strategy if both have several.
ShardingEdge EdgeBetween(int from, size_t from_strategies, int to,
                         size_t to_strategies) {
  ShardingEdge edge = {.from = from, .to = to};
  const bool free = from_strategies == 1 || to_strategies == 1;
  for (size_t s = 0; s < from_strategies; ++s) {
    for (size_t t = 0; t < to_strategies; ++t) {
      edge.costs.push_back(free || s == t ? 0 : kForbidden);
    }
  }
  return edge;
}

// Returns the sharding of the layer with the least cost in `aim`.
StageParallelism Solve(const LayerSpec& layer, const LogicalMesh& mesh,
                       const StageEnvironment& environment, ShardingAim aim) {
  const std::optional<Sharding> sharding =
      SolveSharding(LayerShardingProblem(layer, mesh, environment, aim));
  // Operators on experts share one strategy; all others have strategy 0.
  return mesh.shardings[*std::max_element(sharding->strategies.begin(),
                                          sharding->strategies.end())];
}

// Appends `parallelism` unless it is already in `all`.
void AddNew(const StageParallelism& parallelism,
            std::vector<StageParallelism>& all) {
  if (std::find(all.begin(), all.end(), parallelism) == all.end()) {
    all.push_back(parallelism);
  }
}

}  // namespace

// Derives the meshes from the parallelisms that a stage may have. A mesh with
// tp on the inner axis, or with tp 1, may also split experts over all dp ranks.
// A mesh whose inner axis splits the batch has experts whole or split along
// that axis.
std::vector<LogicalMesh> LogicalMeshesOf(int num_gpus, const IslandSpec& island,
                                         const SplitLimits& limits) {
  std::vector<LogicalMesh> meshes;
  const std::vector<StageParallelism> all =
      ParallelismsOf(num_gpus, island, limits, {.ep = true});
  const auto is_possible = [&](const StageParallelism& wanted) {
    return std::find(all.begin(), all.end(), wanted) != all.end();
  };
  for (const StageParallelism& parallelism : all) {
    if (parallelism.fsep) continue;
    const int dp = parallelism.dp_degree;
    const int ep = parallelism.ep_degree;
    if (ep == 1) {
      meshes.push_back({.outer = dp,
                        .inner = parallelism.tp_degree,
                        .shardings = {parallelism}});
      StageParallelism split = parallelism;
      split.ep_degree = dp;
      if (dp > 1 && is_possible(split)) {
        meshes.back().shardings.push_back(split);
      }
    } else if (parallelism.tp_degree == 1 && ep < dp) {
      StageParallelism whole = parallelism;
      whole.ep_degree = 1;
      meshes.push_back({.outer = dp / ep,
                        .inner = ep,
                        .inner_splits_batch = true,
                        .shardings = {whole, parallelism}});
    }
  }
  return meshes;
}

// Operators form a chain, so edges join neighbours only.
ShardingProblem LayerShardingProblem(const LayerSpec& layer,
                                     const LogicalMesh& mesh,
                                     const StageEnvironment& environment,
                                     ShardingAim aim) {
  ShardingProblem problem;
  for (const OpKind op : OperatorsOf(layer)) {
    const size_t num_strategies = IsOnExperts(op) ? mesh.shardings.size() : 1;
    ShardingNode node;
    for (size_t s = 0; s < num_strategies; ++s) {
      node.costs.push_back(
          CostOf(layer, op, mesh.shardings[s], environment, aim));
    }
    const int index = problem.num_nodes();
    if (index > 0) {
      problem.edges.push_back(EdgeBetween(
          index - 1, problem.nodes.back().costs.size(), index, num_strategies));
    }
    problem.nodes.push_back(std::move(node));
  }
  return problem;
}

// Only layers with experts leave a choice; the others have one sharding on each
// mesh.
std::vector<StageParallelism> SolveIntraOperator(
    absl::Span<const LayerSpec> layers, int num_gpus, const IslandSpec& island,
    const SplitLimits& limits, const StageEnvironment& environment) {
  std::vector<StageParallelism> solutions;
  for (const LogicalMesh& mesh : LogicalMeshesOf(num_gpus, island, limits)) {
    // A mesh has one sharding if there are no experts or they cannot be split.
    if (mesh.shardings.size() == 1) {
      AddNew(mesh.shardings[0], solutions);
      continue;
    }
    for (const LayerSpec& layer : layers) {
      if (!layer.is_moe()) continue;
      for (const ShardingAim aim :
           {ShardingAim::kSeconds, ShardingAim::kBytes}) {
        AddNew(Solve(layer, mesh, environment, aim), solutions);
      }
    }
  }
  return solutions;
}

}  // namespace tangram::alpa
