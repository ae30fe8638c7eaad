#ifndef TANGRAM_COORDINATOR_ISLANDS_BUILD_ISLANDS_H_
#define TANGRAM_COORDINATOR_ISLANDS_BUILD_ISLANDS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram {

// The relative spread allowed inside an island (ε of paper §4.1):
// max / min ≤ 1 + tolerance.
struct IslandTolerances {
  double compute = 0.05;     // ε_c: peak throughput of the training precision.
  double memory = 0.05;      // ε_m: bytes per GPU.
  double intra_node = 0.10;  // ε_i: intra-node bandwidth.
  // Constraint 3: slowest link inside ≥ fastest link leaving / (1 + ε_n).
  // 0 is the paper's constraint; raise it when measured links are noisy.
  double inter_node = 0.0;
};

// Bounds the tables of the composition, which hold two bounds for each set of
// islands: 2^16 sets take 1 MB.
inline constexpr int kMaxIslands = 16;

// Limits on the number of islands and on the time that building them may take.
struct IslandLimits {
  int max_islands = kMaxIslands;
  // One mark for each node of the cluster. Islands with different marks are
  // merged only if no others are left to merge. Empty: all marks are equal.
  std::vector<int> marks;
  // Polled at least at every merge; may be empty.
  std::function<bool()> should_stop;
};

struct IslandSet {
  std::vector<Island> islands;
  bool merged = false;             // Unlike islands were merged.
  std::vector<std::string> notes;  // Merged islands and the reason; for people.
};

// Groups the nodes of `cluster` into GPU islands (paper §4.1). Every node is in
// exactly one island, except for nodes of `left_out`, which are in none. Steps:
//
//   1. split by GPUs per node, compute and memory (constraint 1);
//   2. split by intra-node bandwidth (constraint 2);
//   3. merge nodes by agglomerative clustering on inter-node bandwidth, and
//      keep the coarsest clusters whose inner links are at least as fast as
//      their links to the rest of the cluster (constraint 3).
//
// Islands and the nodes in each are ordered by node name (NaturalLess). The
// order of nodes in `cluster` changes nothing else.
//
// Beyond limits.max_islands, the most alike islands are merged (merge_parts.h),
// and the notes say which. Takes O(n²) bytes and mostly O(n²) steps for n
// islands, with n at most kMaxBlocks. The only error is kCancelled.
absl::StatusOr<IslandSet> BuildIslands(const Cluster& cluster,
                                       Precision precision,
                                       const IslandTolerances& tolerances,
                                       absl::Span<const int> left_out,
                                       const IslandLimits& limits);

// Returns the slowest link from any node of `from` to any node of `to`.
Link LinkBetweenIslands(const Cluster& cluster, const Island& from,
                        const Island& to);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_BUILD_ISLANDS_H_
