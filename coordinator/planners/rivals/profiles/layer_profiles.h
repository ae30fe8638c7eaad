#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_PROFILES_LAYER_PROFILES_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_PROFILES_LAYER_PROFILES_H_

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"

// The figures that layer profilers measure: the times and the memory of single
// layers on single GPU types. Metis, Sailor, AMP and HARP plan from such
// tables. Pure.
namespace tangram {

// One layer on each of tp GPUs of one node, with nothing sharded over replicas.
struct LayerProfile {
  double forward_s = 0;  // One microbatch, collectives of tp included.
  double backward_s = 0;
  double optimizer_s = 0;       // Once an iteration.
  double parameters = 0;        // On one GPU.
  double gradient_bytes = 0;    // Likewise, as reduced between replicas.
  double state_bytes = 0;       // Weights, gradients and optimizer state.
  double activation_bytes = 0;  // Kept for each microbatch in flight.
  double transient_bytes = 0;   // During one pass.
  bool operator==(const LayerProfile&) const = default;
};

// The profiled GPU type, the tp degree and the samples of a microbatch.
struct ProfileKey {
  int type = 0;  // Index into LayerProfiles::types.
  int tp_degree = 1;
  int samples = 1;
  auto operator<=>(const ProfileKey&) const = default;
};

struct ProfiledType {
  std::string name;  // "A100-80".
  double memory_bytes = 0;
  double reserved_bytes = 0;  // Taken before the first tensor.
  int most_gpus_per_node = 0;
  bool operator==(const ProfiledType&) const = default;
};

struct LayerProfiles {
  std::vector<ProfiledType> types;
  std::vector<int> type_of_node;  // Indexes `types`; one a node.
  // The layers of the model in order, the embedding and the head among them.
  // Every entry has the same number of layers.
  std::map<ProfileKey, std::vector<LayerProfile>> layers;
  // Bytes that leave one layer forwards for each sample, all ranks of a tp
  // group together. Gradients that return are as large.
  double boundary_bytes_per_sample = 0;

  // Null: not profiled.
  const std::vector<LayerProfile>* Find(const ProfileKey& key) const {
    const auto found = layers.find(key);
    return found == layers.end() ? nullptr : &found->second;
  }
};

// The degrees and sizes to profile.
struct ProfileRange {
  int max_tp_degree = 8;  // Powers of two up to the GPUs of a node.
  int max_samples = 8;    // Powers of two.
  // Transformer layers run again in the backward pass.
  bool recompute = false;
};

// Profiles the layers of `model` on the GPU types of `cluster` with the cost
// model, or with the measurements that a device has. Nodes whose devices are
// equal have one type; types are in the order of their first nodes. Leaves out
// degrees that do not split the model.
LayerProfiles ProfileLayers(const ModelSpec& model, const Cluster& cluster,
                            const TrainingOptions& training,
                            const ProfileRange& range);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_PROFILES_LAYER_PROFILES_H_
