#ifndef TANGRAM_COORDINATOR_ISLANDS_SPLIT_ISLANDS_H_
#define TANGRAM_COORDINATOR_ISLANDS_SPLIT_ISLANDS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram {

// A mark for each node of a cluster. Nodes of one island stay together if their
// marks are equal.
using IslandSplit = std::vector<int>;

// The most islands after a split. A search takes longer with each island.
inline constexpr int kMaxSplitIslands = 4;
// The most splits that are tried, each with a search: all ways to divide an
// island of three groups (five set partitions, of which one is the island).
inline constexpr int kMaxIslandSplits = 4;

// Returns ways to divide `islands` along the groups of nodes of the cluster. An
// island counts its slowest link for all of its nodes (paper §4.1), so groups
// with fast links inside and slow links between them lose by being one island.
// Then more nodes can make every plan slower.
//
// An island is divided if it has several groups and some group has a faster
// slowest link than the island. With g such groups, g ≤ 3, all set partitions
// of the groups are returned, and otherwise only the one into single groups.
// Islands are divided in every combination, the most islands first, at most
// kMaxIslandSplits. Splits into more than kMaxSplitIslands islands are left
// out. Empty: there is nothing to divide.
std::vector<IslandSplit> IslandSplits(const Cluster& cluster,
                                      absl::Span<const Island> islands);

// Returns `islands` divided by `split`. Numbers them again; nodes keep their
// order. An island that is not divided changes only its number.
std::vector<Island> SplitIslands(const Cluster& cluster,
                                 absl::Span<const Island> islands,
                                 const IslandSplit& split);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_SPLIT_ISLANDS_H_
