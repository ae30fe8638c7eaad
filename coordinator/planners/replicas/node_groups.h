#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_NODE_GROUPS_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_NODE_GROUPS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/island.h"

namespace tangram {

// The nodes of one pipeline: how many of each island. The nodes of an island
// are alike, so the numbers say all.
using NodeGroup = std::vector<int>;

// Groups of disjoint nodes, one for each pipeline, in ascending order. Nodes
// may be left out. No group is empty.
using Partition = std::vector<NodeGroup>;

// Returns partitions to begin a search with: every island alone, and every type
// of GPU alone where types have several islands.
std::vector<Partition> FirstPartitions(absl::Span<const Island> islands);

// Returns the groups of nodes that are made of few parts of each island, at
// most about `most_groups`, without that of all nodes, in ascending order. The
// parts of an island are blocks of 2^k nodes, the smallest for which the groups
// are so few, with or without the nodes that are left over: of 31 nodes in
// blocks of 16, the parts are 15, 16 and 31. If there are not more groups, they
// are all there are.
std::vector<NodeGroup> CoarseGroups(absl::Span<const Island> islands,
                                    int most_groups);

// Returns the partitions into 2 to `max_groups` groups that have equally many
// nodes of each island.
std::vector<Partition> EqualPartitions(absl::Span<const Island> islands,
                                       int max_groups);

// Returns partitions that differ from `partition` by one step, of at most
// `max_groups` groups each:
//  - two groups are merged;
//  - the nodes of an island go to another group;
//  - the nodes of an island become a group of their own;
//  - a group on one island is divided in two halves, or into the greatest power
//    of two and the rest.
// They are ascending, and each comes once.
std::vector<Partition> NeighboursOf(const Partition& partition, int max_groups);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_NODE_GROUPS_H_
