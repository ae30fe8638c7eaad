#include "coordinator/planners/whole_cluster/stand_in_island.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "coordinator/islands/island_spec.h"

namespace tangram {
namespace {

// Returns `nodes` in `order`, by peak fp16 throughput.
std::vector<int> InOrder(const Cluster& cluster, absl::Span<const int> nodes,
                         NodeOrder order) {
  std::vector<int> ordered(nodes.begin(), nodes.end());
  const auto flops = [&](int node) {
    return cluster.nodes[node].device.peak_flops.fp16;
  };
  if (order == NodeOrder::kFastestFirst) {
    std::stable_sort(ordered.begin(), ordered.end(),
                     [&](int a, int b) { return flops(a) > flops(b); });
  }
  if (order == NodeOrder::kSlowestFirst) {
    std::stable_sort(ordered.begin(), ordered.end(),
                     [&](int a, int b) { return flops(a) < flops(b); });
  }
  return ordered;
}

}  // namespace

StandIn MakeStandIn(const Cluster& cluster, absl::Span<const int> nodes,
                    NodeOrder order) {
  StandIn stand_in{.island = {.nodes = InOrder(cluster, nodes, order)}};
  Island& island = stand_in.island;
  island.spec = WeakestSpec(cluster, island.nodes);
  int common = 0;  // g
  int most = 0;
  for (const int node : island.nodes) {
    const int num_gpus = cluster.nodes[node].num_gpus;
    common = std::gcd(common, num_gpus);
    most = std::max(most, num_gpus);
    for (int i = 0; i < num_gpus; ++i) {
      stand_in.gpus.push_back({.node = node, .index = i});
    }
  }
  island.spec.gpus_per_node = common;
  island.spec.num_nodes = static_cast<int>(stand_in.gpus.size()) / common;
  Link& network = island.spec.inter_node;
  const int nodes_of_one = most / common;  // `common` divides `most`.
  network.bandwidth_bytes_per_s /= nodes_of_one;
  network.pair_bandwidth_bytes_per_s = std::min(
      network.pair_bandwidth_bytes_per_s, network.bandwidth_bytes_per_s);
  island.name =
      absl::StrCat(island.spec.device.type, " x", island.spec.num_gpus());
  island.reason =
      "the whole cluster, every GPU taken for the weakest and every link for "
      "the slowest";
  return stand_in;
}

PipelinePlan PlaceOnCluster(const SlicePlan& plan, const StandIn& stand_in,
                            int pipeline_microbatch_size) {
  PipelinePlan pipeline{.pipeline_microbatch_size = pipeline_microbatch_size};
  auto next = stand_in.gpus.begin();
  for (const SliceStage& stage : plan.stages) {
    const auto end = next + stage.plan.parallelism.num_gpus();
    pipeline.stages.push_back({.plan = stage.plan,
                               .gpus = {next, end},
                               .island = stand_in.island.id,
                               .made_by = plan.made_by});
    next = end;
  }
  return pipeline;
}

}  // namespace tangram
