#ifndef TANGRAM_COORDINATOR_ISLANDS_NODE_LINKS_H_
#define TANGRAM_COORDINATOR_ISLANDS_NODE_LINKS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"

namespace tangram {

// Returns the bandwidth between a node of one group and a different node of the
// other (or the same) group, in bytes per second. It is that of the slower
// direction: e(g, g') of paper §4.1.
double PairBandwidth(const Cluster& cluster, int group_a, int group_b);

// The number of nodes in one group.
struct GroupShare {
  int group = 0;
  int num_nodes = 0;  // At least 1.
};

// Returns the groups of `nodes` with the number of nodes in each, in ascending
// order.
std::vector<GroupShare> GroupsOf(const Cluster& cluster,
                                 absl::Span<const int> nodes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_NODE_LINKS_H_
