#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_HARP_HARP_CLUSTERS_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_HARP_HARP_CLUSTERS_H_

#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/pipeline_plan.h"
#include "coordinator/planners/rivals/harp/harp_search.h"
#include "coordinator/planners/rivals/listed/whole_layers.h"
#include "coordinator/planners/rivals/profiles/layer_profiles.h"

// Between requests and HARP's neutral input. Pure.
namespace tangram {

// Nodes that HARP takes for one cluster: of one type, size and group.
struct HarpNodes {
  int type = 0;            // Index into LayerProfiles::types.
  std::vector<int> nodes;  // Indices into Cluster::nodes.
};

// Returns the clusters in the order of their first nodes.
std::vector<HarpNodes> FindHarpClusters(const Cluster& cluster,
                                        const LayerProfiles& profiles);

// Up to this number of clusters, all orders are tried.
inline constexpr int kMostHarpOrders = 24;

// Returns the orders to try: all permutations if they are few, otherwise the
// given order and its reverse.
std::vector<std::vector<HarpNodes>> HarpOrders(
    const std::vector<HarpNodes>& clusters);

// Returns the input for clusters in this order, and microbatches of `samples`
// over all replicas of a stage.
HarpInput HarpInputOf(const Cluster& cluster, const LayerProfiles& profiles,
                      const std::vector<HarpNodes>& order,
                      int global_batch_size, int samples);

// Returns the stages on GPUs. Stages fill the hosts of their cluster from the
// first on, in pipeline order.
std::vector<PlacedStage> PlaceHarpStages(const Cluster& cluster,
                                         const ModelSpec& model,
                                         const std::vector<HarpNodes>& order,
                                         const HarpInput& input,
                                         const std::vector<HarpStage>& stages,
                                         LayerRecompute recompute);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_HARP_HARP_CLUSTERS_H_
