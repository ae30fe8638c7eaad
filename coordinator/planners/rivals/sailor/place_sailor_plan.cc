#include "coordinator/planners/rivals/sailor/place_sailor_plan.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "coordinator/planners/rivals/listed/whole_layers.h"

namespace tangram::sailor {
namespace {

struct PlacedReplica {
  int stage = 0;
  int type = 0;
  int tp = 1;
  GpuId first;  // The others follow it in the node.
};

// The replicas of all stages in order, not yet placed.
std::vector<PlacedReplica> ReplicasOf(const Plan& plan) {
  std::vector<PlacedReplica> replicas;
  for (int stage = 0; stage < static_cast<int>(plan.stages.size()); ++stage) {
    for (const ReplicaRun& run : plan.stages[stage].replicas) {
      replicas.insert(
          replicas.end(), run.count,
          {.stage = stage, .type = run.type, .tp = run.tp, .first = {}});
    }
  }
  return replicas;
}

// Gives each replica the first GPUs left of the first node that has enough.
// Returns whether all have theirs.
bool TakeGpus(const Cluster& cluster, const TypedNodes& typed,
              std::vector<PlacedReplica>& replicas) {
  std::vector<PlacedReplica*> order;
  for (PlacedReplica& replica : replicas) order.push_back(&replica);
  std::stable_sort(order.begin(), order.end(),
                   [](const PlacedReplica* a, const PlacedReplica* b) {
                     return a->tp > b->tp;
                   });
  std::vector<int> used(cluster.nodes.size(), 0);
  // By type: no earlier node has GPUs for replicas of this degree.
  std::vector<size_t> next(typed.nodes.size(), 0);
  int degree = 0;
  for (PlacedReplica* replica : order) {
    if (replica->tp != degree) std::fill(next.begin(), next.end(), 0);
    degree = replica->tp;
    const std::vector<int>& nodes = typed.nodes[replica->type];
    size_t& at = next[replica->type];
    while (at < nodes.size() &&
           cluster.nodes[nodes[at]].num_gpus - used[nodes[at]] < degree) {
      ++at;
    }
    if (at == nodes.size()) return false;
    replica->first = {nodes[at], used[nodes[at]]};
    used[nodes[at]] += degree;
  }
  return true;
}

PlacedStage StageOf(const Stage& stage, int samples, const ModelSpec& model,
                    bool recompute) {
  PlacedStage placed{.plan = WholeLayers(model, stage.first_layer,
                                         stage.first_layer + stage.num_layers,
                                         /*parallelism=*/{},
                                         recompute ? LayerRecompute::kWholeLayer
                                                   : LayerRecompute::kNone)};
  for (const ReplicaRun& run : stage.replicas) {
    const StageParallelism parallelism{.tp_degree = run.tp,
                                       .dp_degree = run.count};
    if (stage.replicas.size() == 1) {
      placed.plan.parallelism = parallelism;
    } else {
      placed.mixed.groups.push_back(
          {.parallelism = parallelism, .share = run.count * samples});
    }
  }
  return placed;
}

}  // namespace

std::optional<PipelinePlan> PlaceSailorPlan(const Plan& plan,
                                            const ModelSpec& model,
                                            const Cluster& cluster,
                                            const TypedNodes& typed,
                                            bool recompute) {
  std::vector<PlacedReplica> replicas = ReplicasOf(plan);
  if (!TakeGpus(cluster, typed, replicas)) return std::nullopt;
  PipelinePlan placed{.pipeline_microbatch_size = plan.samples * plan.dp};
  for (const Stage& stage : plan.stages) {
    placed.stages.push_back(StageOf(stage, plan.samples, model, recompute));
  }
  for (const PlacedReplica& replica : replicas) {
    for (int i = 0; i < replica.tp; ++i) {
      placed.stages[replica.stage].gpus.push_back(
          {replica.first.node, replica.first.index + i});
    }
  }
  return placed;
}

}  // namespace tangram::sailor
