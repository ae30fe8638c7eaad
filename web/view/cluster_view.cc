#include "web/view/cluster_view.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"

namespace tangram {
namespace {

Json LinkView(const Link& link) {
  return {{"bandwidth_bytes_per_s", link.bandwidth_bytes_per_s},
          {"pair_bandwidth_bytes_per_s", link.pair_bandwidth_bytes_per_s},
          {"latency_s", link.latency_s}};
}

// Returns the index of `type` among `types`, adding it if needed.
size_t IndexOf(const std::string& type, std::vector<std::string>& types) {
  const auto it = std::find(types.begin(), types.end(), type);
  if (it != types.end()) return static_cast<size_t>(it - types.begin());
  types.push_back(type);
  return types.size() - 1;
}

bool IsLink(const Assumption& assumption) {
  for (const char* word :
       {"link", "intra_node", "inter_node", "bandwidth", "latency"}) {
    if (assumption.field.find(word) != std::string::npos &&
        assumption.field.find("memory_bandwidth") == std::string::npos) {
      return true;
    }
  }
  return false;
}

Json AssumptionsView(const Cluster& cluster) {
  Json view = Json::array();
  for (const Assumption& assumption : cluster.assumptions) {
    view.push_back({{"field", assumption.field},
                    {"value", assumption.value},
                    {"source", assumption.source},
                    {"is_link", IsLink(assumption)}});
  }
  return view;
}

}  // namespace

Json ClusterView(const Cluster& cluster) {
  Json nodes = Json::array();
  std::vector<std::string> gpu_types;
  for (const Node& node : cluster.nodes) {
    nodes.push_back({{"name", node.name},
                     {"gpu", IndexOf(node.device.type, gpu_types)},
                     {"num_gpus", node.num_gpus}});
  }
  return {{"name", cluster.name},
          {"num_gpus", cluster.num_gpus()},
          {"gpu_types", gpu_types},
          {"nodes", std::move(nodes)},
          {"assumptions", AssumptionsView(cluster)}};
}

Json IslandsView(const PlanResult& result) {
  Json view = Json::array();
  for (const Island& island : result.islands) {
    const IslandSpec& spec = island.spec;
    Json entry = {{"name", island.name},
                  {"nodes", island.nodes},
                  {"gpu", spec.device.type},
                  {"num_gpus", spec.num_gpus()},
                  {"memory_bytes", spec.device.memory_bytes},
                  {"reason", island.reason}};
    if (spec.gpus_per_node > 1) entry["intra_node"] = LinkView(spec.intra_node);
    if (spec.num_nodes > 1) entry["inter_node"] = LinkView(spec.inter_node);
    view.push_back(std::move(entry));
  }
  for (const UnusedIsland& unused : result.unused_islands) {
    Json& entry = view[unused.island]["left_out"];
    entry = {{"reason", unused.reason}};
    if (unused.best_with_it_s) entry["best_with_it_s"] = *unused.best_with_it_s;
  }
  return view;
}

Json GpusView(absl::Span<const GpuId> gpus) {
  Json runs = Json::array();
  for (size_t begin = 0, end = 1; begin < gpus.size(); begin = end++) {
    while (end < gpus.size() && gpus[end].node == gpus[begin].node &&
           gpus[end].index == gpus[end - 1].index + 1) {
      ++end;
    }
    runs.push_back({gpus[begin].node, gpus[begin].index, end - begin});
  }
  return runs;
}

}  // namespace tangram
