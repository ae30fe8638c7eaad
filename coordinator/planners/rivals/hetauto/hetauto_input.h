#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_INPUT_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_INPUT_H_

#include <vector>

#include "coordinator/planners/rivals/profiles/layer_profiles.h"

// A stand-in for HetAuto ("HetAuto: Cross-Cluster Auto-Parallelism for
// Heterogeneous Distributed Training", EuroSys 2026). HetAuto's code is not
// public, and neither are the formulas of its cost model, its reward and its
// learned correction. The decisions and the principles follow what was
// published about it; all else is ours.
namespace tangram {

// Equal nodes with fast links between them.
struct HetAutoCluster {
  int type = 0;  // Indexes LayerProfiles::types.
  int num_nodes = 0;
  int gpus_per_node = 0;
  double intra_bytes_per_s = 0;  // Per GPU, inside a node.
  double inter_bytes_per_s = 0;  // Per node, to another node.
  double memory_bytes = 0;       // Per GPU, for a plan to allocate.
  bool runs_context_parallel = false;

  int num_gpus() const { return num_nodes * gpus_per_node; }
};

struct HetAutoInput {
  std::vector<HetAutoCluster> clusters;
  // links[a][b]: bytes per second between a node of cluster a and one of b.
  std::vector<std::vector<double>> links;
  LayerProfiles profiles;
  int num_layers = 0;  // Transformer layers.
  int global_batch_size = 0;
  int sequence_length = 0;
  // Keys and values of a layer for one sample, in bytes.
  double key_value_bytes = 0;
  bool recompute = false;  // All transformer layers.
};

// The stages of one cluster, all with the same degrees.
struct HetAutoSection {
  int cluster = 0;
  int num_stages = 0;
  int tp_degree = 1;
  int cp_degree = 1;
  int num_layers = 0;  // In all its stages.
  bool operator==(const HetAutoSection&) const = default;
};

// A pipeline over all clusters. Each stage of a cluster has
// tp · cp · dp = num_gpus / num_stages GPUs.
struct HetAutoPlan {
  int dp_degree = 1;  // The same in all clusters, so replicas are aligned.
  int samples = 1;    // Per microbatch of one replica.
  std::vector<HetAutoSection> sections;  // In pipeline order.
  bool operator==(const HetAutoPlan&) const = default;

  int num_stages() const {
    int sum = 0;
    for (const HetAutoSection& section : sections) sum += section.num_stages;
    return sum;
  }
};

// Returns the layers of each stage of a section: about equal, and what is left
// over to the last ones, which hold fewer microbatches.
inline std::vector<int> LayersOfStages(const HetAutoSection& section) {
  std::vector<int> layers;
  for (int s = 0; s < section.num_stages; ++s) {
    layers.push_back((section.num_layers + s) / section.num_stages);
  }
  return layers;
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HETAUTO_HETAUTO_INPUT_H_
