#ifndef TANGRAM_FORMATS_CONFIG_INSTANCE_CLUSTER_H_
#define TANGRAM_FORMATS_CONFIG_INSTANCE_CLUSTER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "formats/config/limit_nodes.h"

namespace tangram {

// Returns a cluster of cloud instances: for each type and number a group of its
// name. Networks deliver 0.9 of their line rate, as in the device catalogue;
// what is assumed about them is listed in Cluster::assumptions. Groups are
// joined by the slower of their networks. kInvalidArgument for an unknown type,
// one whose GPUs are not in the catalogue, one given twice, or no node.
absl::StatusOr<Cluster> InstanceCluster(absl::Span<const NodeCount> counts);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_INSTANCE_CLUSTER_H_
