#ifndef TANGRAM_WEB_VIEW_CLUSTER_VIEW_H_
#define TANGRAM_WEB_VIEW_CLUSTER_VIEW_H_

#include "common/domain/cluster.h"
#include "common/planner/cluster_planner.h"
#include "web/view/json.h"

namespace tangram {

// Nodes, kinds of GPU, and assumptions.
Json ClusterView(const Cluster& cluster);

// Islands with their use, or the reason why they are unused.
Json IslandsView(const PlanResult& result);

// GPUs as runs [node, first, count] in rank order.
Json GpusView(absl::Span<const GpuId> gpus);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_CLUSTER_VIEW_H_
