#ifndef TANGRAM_FORMATS_CONFIG_LIMIT_NODES_H_
#define TANGRAM_FORMATS_CONFIG_LIMIT_NODES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"

namespace tangram {

using NodeCount = std::pair<std::string, int>;  // Group and number of nodes.

// "t4=2,v100=0".
absl::StatusOr<std::vector<NodeCount>> ParseNodeCounts(absl::string_view text);

// Keeps the first so many nodes of each named group, in cluster order; 0
// removes the group, and groups not named stay as they are. kInvalidArgument,
// with the cluster unchanged, for an unknown group, one named twice, more nodes
// than there are, or no node left.
absl::Status LimitNodes(absl::Span<const NodeCount> counts, Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_LIMIT_NODES_H_
