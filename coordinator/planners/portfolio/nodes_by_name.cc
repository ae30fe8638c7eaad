#include "coordinator/planners/portfolio/nodes_by_name.h"

#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"

namespace tangram {

NodesByName::NodesByName(const Cluster& cluster)
    : original_(cluster.nodes.size()), by_name_(cluster.nodes.size()) {
  std::iota(original_.begin(), original_.end(), 0);
  absl::c_sort(original_, [&](int a, int b) {
    return cluster.nodes[a].name < cluster.nodes[b].name;
  });
  for (size_t i = 0; i < original_.size(); ++i) {
    by_name_[original_[i]] = static_cast<int>(i);
  }
}

void NodesByName::Sort(Cluster& cluster) const {
  std::vector<Node> nodes;
  nodes.reserve(original_.size());
  for (const int node : original_) {
    nodes.push_back(std::move(cluster.nodes[node]));
  }
  cluster.nodes = std::move(nodes);
}

void NodesByName::Sort(std::vector<Island>& islands) const {
  for (Island& island : islands) {
    for (int& node : island.nodes) node = by_name_[node];
  }
}

void NodesByName::Renumber(const std::vector<int>& numbers,
                           PipelinePlan& plan) {
  for (PlacedStage& stage : plan.stages) {
    for (GpuId& gpu : stage.gpus) gpu.node = numbers[gpu.node];
  }
}

}  // namespace tangram
