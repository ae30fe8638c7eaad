#include "coordinator/planners/rivals/profiles/layer_profiles.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"
#include "common/domain/model_slice.h"
#include "common/domain/recompute_masks.h"
#include "common/domain/stage_rules.h"
#include "common/sim/stage_placement.h"

namespace tangram {
namespace {

// Returns the profile of `layer` as a stage of its own.
LayerProfile ProfileOf(const LayerSpec& layer, bool recompute,
                       const StageParallelism& parallelism,
                       const StageEnvironment& environment) {
  const bool runs_again = recompute && layer.kind == LayerKind::kTransformer;
  const LayerPart whole{
      .op_end = static_cast<int>(OperatorsOf(layer).size()),
      .recomputed = runs_again ? WholeLayerMask(layer) : kRecomputeNone};
  const LayerCost cost = EstimateLayer(layer, whole, parallelism, environment);
  const StageCost stage = StageCostOf(cost, parallelism, environment);
  return {.forward_s = stage.forward_s,
          .backward_s = stage.backward_s,
          .optimizer_s = stage.optimizer_s,
          .parameters = cost.parameters.dense + cost.parameters.expert,
          .gradient_bytes = stage.memory.gradient_bytes /
                            (1 + environment.device.efficiency.fragmentation),
          .state_bytes = stage.memory.weight_bytes +
                         stage.memory.gradient_bytes +
                         stage.memory.optimizer_bytes,
          .activation_bytes = stage.memory.activation_bytes,
          .transient_bytes = stage.memory.transient_bytes};
}

// Whether every layer of the model runs on tp_degree GPUs.
bool Splits(absl::Span<const LayerRun> runs, int tp_degree) {
  return std::all_of(runs.begin(), runs.end(), [&](const LayerRun& run) {
    return run.layer.kind != LayerKind::kTransformer ||
           SplitsMixer(run.layer, tp_degree);
  });
}

// Returns the name, or with a number behind it if other types have it. GPUs of
// one type may have unlike links.
std::string UniqueName(const std::string& name,
                       const std::vector<ProfiledType>& types) {
  std::string unique = name;
  const auto is_taken = [&](const ProfiledType& type) {
    return type.name == unique;
  };
  for (int i = 2; std::any_of(types.begin(), types.end(), is_taken); ++i) {
    unique = absl::StrCat(name, "-", i);
  }
  return unique;
}

// Adds the types of the cluster, and returns a node of most GPUs for each.
std::vector<int> FindTypes(const Cluster& cluster, LayerProfiles& profiles) {
  std::vector<int> examples;
  for (int node = 0; node < static_cast<int>(cluster.nodes.size()); ++node) {
    const Node& here = cluster.nodes[node];
    const auto same = [&](int other) {
      return cluster.nodes[other].device == here.device &&
             cluster.nodes[other].intra_node == here.intra_node;
    };
    auto example = std::find_if(examples.begin(), examples.end(), same);
    const int type = static_cast<int>(example - examples.begin());
    profiles.type_of_node.push_back(type);
    if (example == examples.end()) {
      examples.push_back(node);
      profiles.types.push_back(
          {.name = UniqueName(here.device.type, profiles.types),
           .memory_bytes = here.device.memory_bytes,
           .reserved_bytes = here.device.efficiency.reserved_bytes});
    } else if (here.num_gpus > cluster.nodes[*example].num_gpus) {
      *example = node;
    }
    int& most = profiles.types[type].most_gpus_per_node;
    most = std::max(most, here.num_gpus);
  }
  return examples;
}

// Returns the GPUs of the first tp ranks of a node.
std::vector<GpuId> FirstGpus(int node, int tp_degree) {
  std::vector<GpuId> gpus;
  for (int i = 0; i < tp_degree; ++i) gpus.push_back({node, i});
  return gpus;
}

}  // namespace

LayerProfiles ProfileLayers(const ModelSpec& model, const Cluster& cluster,
                            const TrainingOptions& training,
                            const ProfileRange& range) {
  LayerProfiles profiles;
  const std::vector<int> examples = FindTypes(cluster, profiles);
  const std::vector<LayerRun> runs =
      MakeSlice({0, model.num_layers()}, model.layers).runs;
  profiles.boundary_bytes_per_sample =
      BoundaryBytes(model.layers.back(), /*op_index=*/0,
                    /*pipeline_microbatch_size=*/1, training);
  for (int type = 0; type < static_cast<int>(examples.size()); ++type) {
    const int most =
        std::min(range.max_tp_degree, profiles.types[type].most_gpus_per_node);
    for (int tp = 1; tp <= most; tp *= 2) {
      if (!Splits(runs, tp)) continue;
      const StageParallelism parallelism{.tp_degree = tp};
      const PlacedGpus placed =
          PlacedGpusOf(cluster, FirstGpus(examples[type], tp));
      for (int samples = 1; samples <= range.max_samples; samples *= 2) {
        const StageEnvironment environment =
            placed.Environment(training, samples);
        std::vector<LayerProfile>& layers =
            profiles.layers[{type, tp, samples}];
        for (const LayerRun& run : runs) {
          layers.insert(
              layers.end(), run.count,
              ProfileOf(run.layer, range.recompute, parallelism, environment));
        }
      }
    }
  }
  return profiles;
}

}  // namespace tangram
