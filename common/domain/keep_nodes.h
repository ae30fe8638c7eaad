#ifndef TANGRAM_COMMON_DOMAIN_KEEP_NODES_H_
#define TANGRAM_COMMON_DOMAIN_KEEP_NODES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"

namespace tangram {

// Returns the number of nodes of each group.
std::vector<int> NodesOfGroups(const Cluster& cluster);

// Returns the GPUs of a node of each group; 0 for one without nodes.
std::vector<int> GpusOfNodes(const Cluster& cluster);

// Returns Assumption::field for what is assumed of the memory of all GPUs of a
// type.
std::string MemoryFieldOf(absl::string_view gpu_type);

// Returns the cluster with `counts[g]` nodes of each group g, the first in
// cluster order. Groups without nodes are gone, and so is what is assumed of
// the memory of types of which no GPU is left. There must be as many counts as
// groups, each from 0 to the group's nodes.
Cluster KeepNodes(const Cluster& cluster, absl::Span<const int> counts);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_KEEP_NODES_H_
