#ifndef TANGRAM_COORDINATOR_ISLANDS_NODE_LINKS_H_
#define TANGRAM_COORDINATOR_ISLANDS_NODE_LINKS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"

namespace tangram {

// The slower direction between a node of one group and another node of the
// other, in bytes per second.
double PairBandwidth(const Cluster& cluster, int group_a, int group_b);

struct GroupShare {
  int group = 0;
  int num_nodes = 0;  // At least one.
};

// The groups that `nodes` are in, ascending.
std::vector<GroupShare> GroupsOf(const Cluster& cluster,
                                 absl::Span<const int> nodes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_NODE_LINKS_H_
