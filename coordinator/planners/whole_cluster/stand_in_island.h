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
// Homogeneous parallelizers need the same number of GPUs in every node. If
// nodes differ, a node counts as several nodes of g GPUs, where g is the
// greatest common divisor of the nodes' GPU counts. So every GPU is used. The
// parts of a node share its network. With c_n the GPUs of node n,
//
//   bandwidth between nodes = slowest link / (max_n c_n / g).
struct StandIn {
  Island island;            // Its nodes are the real ones, in `order`.
  std::vector<GpuId> gpus;  // By GPU of the island: the real GPU.
};

// Returns the stand-in for `nodes` of the cluster, at least one. NodeOrder
// compares peak fp16 throughput. Nodes that tie stay as listed.
StandIn MakeStandIn(const Cluster& cluster, absl::Span<const int> nodes,
                    NodeOrder order);

// Returns the plan of the whole model on the real GPUs. Its stages take them in
// the same order as they took those of the island.
PipelinePlan PlaceOnCluster(const SlicePlan& plan, const StandIn& stand_in,
                            int pipeline_microbatch_size);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_WHOLE_CLUSTER_STAND_IN_ISLAND_H_
