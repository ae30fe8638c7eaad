#ifndef TANGRAM_FORMATS_CONFIG_NODE_LATTICE_H_
#define TANGRAM_FORMATS_CONFIG_NODE_LATTICE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/cluster.h"
#include "formats/config/limit_nodes.h"

namespace tangram {

// Parses the numbers of nodes that allocations may have of each group:
//   h100=0..8:2,a100=1|2|4,t4=1..16:x2
// with steps of 2, a list, and powers of 2. A group that is not named has all
// of its nodes; with an empty text, each group has from 0 to all. Returns the
// numbers of each group of `cluster`, ascending, each once. Errors:
// kInvalidArgument naming the group, the text and what was expected.
absl::StatusOr<std::vector<std::vector<int>>> ParseNodeLattice(
    absl::string_view text, const Cluster& cluster);

// Returns the most nodes of each group that the text names, in its order: the
// cluster of cloud instances that holds every allocation. Errors likewise; also
// for an empty text.
absl::StatusOr<std::vector<NodeCount>> MostNodes(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_NODE_LATTICE_H_
