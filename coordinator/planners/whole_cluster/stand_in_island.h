#ifndef TANGRAM_COORDINATOR_PLANNERS_WHOLE_CLUSTER_STAND_IN_ISLAND_H_
#define TANGRAM_COORDINATOR_PLANNERS_WHOLE_CLUSTER_STAND_IN_ISLAND_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/slice_plan.h"

namespace tangram {

// The order in which the stages of a pipeline take nodes.
enum class NodeOrder { kAsListed, kFastestFirst, kSlowestFirst };

// A homogeneous island that stands in for the whole cluster: every GPU is the
// weakest one, and every link the slowest of its kind.
//
// Homogeneous parallelizers need as many GPUs in every node. Where the nodes
// differ, a node counts as several of g GPUs, with g the greatest common
// divisor of the nodes' GPU counts, so that every GPU is used. The parts of a
// node share its network, so the link between nodes is as slow as the part of
// the node with most parts.
struct StandIn {
  Island island;            // Its nodes are the real ones, in the order asked.
  std::vector<GpuId> gpus;  // GPU i of the island is this one of the cluster.
};

// `nodes`, at least one, are those of the cluster that may be used. Peak fp16
// throughput decides which GPUs are fast; nodes that tie stay as listed.
StandIn MakeStandIn(const Cluster& cluster, absl::Span<const int> nodes,
                    NodeOrder order);

// The plan of the whole model on the real GPUs: its stages take them in order,
// as they took those of the island.
PipelinePlan PlaceOnCluster(const SlicePlan& plan, const StandIn& stand_in,
                            int pipeline_microbatch_size);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_WHOLE_CLUSTER_STAND_IN_ISLAND_H_
