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

// Parses "t4=2,v100=0".
absl::StatusOr<std::vector<NodeCount>> ParseNodeCounts(absl::string_view text);

// Keeps that many nodes of each named group, the first in cluster order. 0
// removes the group; groups without a count stay as they are. On error the
// cluster is unchanged. kInvalidArgument for an unknown group, a group named
// twice, more nodes than there are, or no node left.
absl::Status LimitNodes(absl::Span<const NodeCount> counts, Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_LIMIT_NODES_H_
