#include "coordinator/planners/rivals/harp/harp_clusters.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace tangram {
namespace {

// Nodes that are equal by this are one cluster.
std::tuple<int, int, int> KindOf(const Cluster& cluster,
                                 const LayerProfiles& profiles, int node) {
  return {profiles.type_of_node[node], cluster.nodes[node].num_gpus,
          cluster.nodes[node].group};
}

HarpPath PathOf(const Link& link) {
  return {.bytes_per_s = link.bandwidth_bytes_per_s,
          .latency_s = link.latency_s};
}

// HARP knows one figure for a cluster: that of its network if it has one.
HarpPath PathInside(const Cluster& cluster, const HarpNodes& nodes) {
  const int first = nodes.nodes.front();
  return PathOf(nodes.nodes.size() > 1
                    ? cluster.LinkBetween(first, nodes.nodes.back())
                    : cluster.nodes[first].intra_node);
}

std::vector<HarpShape> ShapesOf(const LayerProfiles& profiles, int type,
                                int gpus_per_host, int samples) {
  std::vector<HarpShape> shapes;
  for (int n = 1; n <= gpus_per_host; n *= 2) {
    for (int tp = 1; tp <= n; tp *= 2) {
      const int dp = n / tp;
      const std::vector<LayerProfile>* const profile =
          samples % dp == 0 ? profiles.Find({type, tp, samples / dp}) : nullptr;
      if (profile == nullptr) continue;
      HarpShape& shape =
          shapes.emplace_back(HarpShape{.dp_degree = dp, .tp_degree = tp});
      for (const LayerProfile& layer : *profile) {
        shape.layers.push_back({.pass_s = layer.forward_s + layer.backward_s,
                                .state_bytes = layer.state_bytes,
                                .activation_bytes = layer.activation_bytes,
                                .transient_bytes = layer.transient_bytes});
      }
    }
  }
  return shapes;
}

}  // namespace

std::vector<HarpNodes> FindHarpClusters(const Cluster& cluster,
                                        const LayerProfiles& profiles) {
  std::vector<HarpNodes> clusters;
  for (int node = 0; node < static_cast<int>(cluster.nodes.size()); ++node) {
    const auto kind = KindOf(cluster, profiles, node);
    auto same = std::find_if(
        clusters.begin(), clusters.end(), [&](const HarpNodes& other) {
          return KindOf(cluster, profiles, other.nodes.front()) == kind;
        });
    if (same == clusters.end()) {
      same = clusters.insert(clusters.end(), {.type = std::get<0>(kind)});
    }
    same->nodes.push_back(node);
  }
  return clusters;
}

std::vector<std::vector<HarpNodes>> HarpOrders(
    const std::vector<HarpNodes>& clusters) {
  std::vector<int> order(clusters.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders;
  do {
    orders.push_back(order);
  } while (orders.size() <= kMostHarpOrders &&
           std::next_permutation(order.begin(), order.end()));
  if (orders.size() > kMostHarpOrders) {
    orders.resize(1);
    orders.emplace_back(orders.front().rbegin(), orders.front().rend());
  }
  std::vector<std::vector<HarpNodes>> result;
  for (const std::vector<int>& indices : orders) {
    std::vector<HarpNodes>& ordered = result.emplace_back();
    for (const int i : indices) ordered.push_back(clusters[i]);
  }
  return result;
}

HarpInput HarpInputOf(const Cluster& cluster, const LayerProfiles& profiles,
                      const std::vector<HarpNodes>& order,
                      int global_batch_size, int samples) {
  HarpInput input{.num_microbatches = global_batch_size / samples};
  for (size_t c = 0; c < order.size(); ++c) {
    const HarpNodes& nodes = order[c];
    const ProfiledType& type = profiles.types[nodes.type];
    const int first = nodes.nodes.front();
    const int gpus = cluster.nodes[first].num_gpus;
    HarpCluster& made = input.clusters.emplace_back(
        HarpCluster{.num_hosts = static_cast<int>(nodes.nodes.size()),
                    .gpus_per_host = gpus,
                    .capacity_bytes = type.memory_bytes - type.reserved_bytes,
                    .inside = PathInside(cluster, nodes),
                    .shapes = ShapesOf(profiles, nodes.type, gpus, samples)});
    if (c + 1 < order.size()) {
      made.onwards =
          PathOf(cluster.LinkBetween(first, order[c + 1].nodes.front()));
    }
  }
  // Activations go on, and gradients as large come back.
  const size_t layers = profiles.layers.begin()->second.size();
  input.border_bytes.assign(layers,
                            2 * samples * profiles.boundary_bytes_per_sample);
  return input;
}

std::vector<PlacedStage> PlaceHarpStages(const Cluster& cluster,
                                         const ModelSpec& model,
                                         const std::vector<HarpNodes>& order,
                                         const HarpInput& input,
                                         const std::vector<HarpStage>& stages,
                                         LayerRecompute recompute) {
  std::vector<std::vector<GpuId>> gpus;  // By cluster.
  for (const HarpNodes& nodes : order) {
    std::vector<GpuId>& all = gpus.emplace_back();
    for (const int node : nodes.nodes) {
      for (int i = 0; i < cluster.nodes[node].num_gpus; ++i) {
        all.push_back({node, i});
      }
    }
  }
  std::vector<size_t> next(order.size());
  std::vector<PlacedStage> placed;
  for (const HarpStage& stage : stages) {
    const HarpShape& shape = input.clusters[stage.cluster].shapes[stage.shape];
    const auto first = gpus[stage.cluster].begin() +
                       static_cast<std::ptrdiff_t>(next[stage.cluster]);
    next[stage.cluster] += shape.num_gpus();
    placed.push_back(
        {.plan = WholeLayers(
             model, stage.begin_layer, stage.end_layer,
             {.tp_degree = shape.tp_degree, .dp_degree = shape.dp_degree},
             recompute),
         .gpus = {first, first + shape.num_gpus()}});
  }
  return placed;
}

}  // namespace tangram
