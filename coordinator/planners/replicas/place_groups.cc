#include "coordinator/planners/replicas/place_groups.h"

#include <cstddef>
#include <map>
#include <utility>

namespace tangram {
namespace {

// A node at its place in an island.
struct IslandNode {
  int island = 0;
  int index = 0;  // Into Island::nodes.
};

// Moves `plan` from the first nodes of each island to those that begin at
// `first`.
PipelinePlan Moved(absl::Span<const Island> islands,
                   const std::map<int, IslandNode>& places,
                   const NodeGroup& first, PipelinePlan plan) {
  for (PlacedStage& stage : plan.stages) {
    for (GpuId& gpu : stage.gpus) {
      const IslandNode place = places.at(gpu.node);
      stage.island = place.island;
      gpu.node = islands[place.island].nodes[place.index + first[place.island]];
    }
  }
  return plan;
}

}  // namespace

ReplicatedPlan PlaceGroups(absl::Span<const Island> islands,
                           absl::Span<const PlacedGroup> groups,
                           ReplicaSync sync) {
  std::map<int, IslandNode> places;
  for (int i = 0; i < static_cast<int>(islands.size()); ++i) {
    for (int n = 0; n < static_cast<int>(islands[i].nodes.size()); ++n) {
      places[islands[i].nodes[n]] = {i, n};
    }
  }
  ReplicatedPlan placed{.sync = sync};
  NodeGroup first(islands.size());
  for (const PlacedGroup& group : groups) {
    placed.pipelines.push_back(
        {.plan = Moved(islands, places, first, *group.plan),
         .num_microbatches = static_cast<int>(group.num_microbatches)});
    for (size_t i = 0; i < first.size(); ++i) first[i] += (*group.nodes)[i];
  }
  if (sync == ReplicaSync::kAllReduce) return placed;
  for (PipelineReplica& replica : placed.pipelines) {
    replica.state_fraction = 1.0 / static_cast<double>(placed.pipelines.size());
  }
  return placed;
}

}  // namespace tangram
