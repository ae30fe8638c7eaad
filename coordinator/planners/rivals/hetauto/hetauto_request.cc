#include "coordinator/planners/rivals/hetauto/hetauto_request.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "coordinator/planners/rivals/listed/whole_layers.h"

namespace tangram {
namespace {

constexpr int kMostTp = 8;

// The first transformer layer stands for all.
const LayerSpec& TransformerLayerOf(const ModelSpec& model) {
  return *absl::c_find_if(model.layers, [](const LayerSpec& layer) {
    return layer.kind == LayerKind::kTransformer;
  });
}

// HetAuto knows no mixers that ranks share in another way than attention.
bool AnyMamba(const ModelSpec& model) {
  return absl::c_any_of(
      model.layers, [](const LayerSpec& layer) { return layer.is_mamba(); });
}

std::vector<GpuId> GpusOf(const Island& island, const Cluster& cluster) {
  std::vector<GpuId> gpus;
  for (const int node : island.nodes) {
    for (int i = 0; i < cluster.nodes[node].num_gpus; ++i) {
      gpus.push_back({.node = node, .index = i});
    }
  }
  return gpus;
}

HetAutoCluster ClusterOf(const PlanRequest& request, const Island& island,
                         const LayerProfiles& profiles) {
  const IslandSpec& spec = island.spec;
  return {.type = profiles.type_of_node[island.nodes.front()],
          .num_nodes = spec.num_nodes,
          .gpus_per_node = spec.gpus_per_node,
          .intra_bytes_per_s = spec.intra_node.bandwidth_bytes_per_s,
          .inter_bytes_per_s = spec.inter_node.bandwidth_bytes_per_s,
          .memory_bytes = (spec.device.memory_bytes -
                           spec.device.efficiency.reserved_bytes) /
                          (1 + spec.device.efficiency.fragmentation),
          .runs_context_parallel = !AnyMamba(request.model) &&
                                   request.training.flash_attention &&
                                   spec.device.supports_flash_attention};
}

}  // namespace

HetAutoInput HetAutoInputFor(const PlanRequest& request,
                             const std::vector<Island>& islands,
                             int max_samples, bool recompute) {
  const Cluster& cluster = request.cluster;
  const LayerSpec& layer = TransformerLayerOf(request.model);
  const TrainingOptions& training = request.training;
  HetAutoInput input{
      .profiles =
          ProfileLayers(request.model, cluster, training,
                        {.max_tp_degree = kMostTp, .max_samples = max_samples}),
      .num_layers = request.model.num_layers() - 2,
      .global_batch_size = training.global_batch_size,
      .sequence_length = training.sequence_length,
      .key_value_bytes = ElementBytes(training.precision) *
                         training.sequence_length * layer.num_kv_heads *
                         (layer.head_dim + layer.value_head_dim),
      .recompute = recompute};
  for (const Island& a : islands) {
    input.clusters.push_back(ClusterOf(request, a, input.profiles));
    std::vector<double>& row = input.links.emplace_back();
    for (const Island& b : islands) {
      row.push_back(cluster.LinkBetween(a.nodes.back(), b.nodes.front())
                        .bandwidth_bytes_per_s);
    }
  }
  return input;
}

PipelinePlan PipelineOf(const PlanRequest& request,
                        const std::vector<Island>& islands,
                        const HetAutoPlan& plan, bool recompute) {
  PipelinePlan pipeline{.pipeline_microbatch_size =
                            plan.samples * plan.dp_degree};
  std::vector<int> layers;
  for (const HetAutoSection& section : plan.sections) {
    absl::c_copy(LayersOfStages(section), std::back_inserter(layers));
  }
  std::vector<StagePlan> stages =
      StagesOfLayers(request.model, layers, recompute);
  size_t next = 0;
  for (const HetAutoSection& section : plan.sections) {
    const std::vector<GpuId> gpus =
        GpusOf(islands[section.cluster], request.cluster);
    const size_t per_stage = gpus.size() / section.num_stages;
    for (int s = 0; s < section.num_stages; ++s) {
      PlacedStage& placed = pipeline.stages.emplace_back(
          PlacedStage{.plan = std::move(stages[next++])});
      placed.plan.parallelism = {.tp_degree = section.tp_degree,
                                 .cp_degree = section.cp_degree,
                                 .dp_degree = plan.dp_degree};
      placed.gpus.assign(gpus.begin() + s * per_stage,
                         gpus.begin() + (s + 1) * per_stage);
    }
  }
  return pipeline;
}

}  // namespace tangram
