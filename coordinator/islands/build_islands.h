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

// Largest relative spread inside an island: max / min ≤ 1 + tolerance.
struct IslandTolerances {
  double compute = 0.05;     // ε_c: peak throughput of the training precision.
  double memory = 0.05;      // ε_m: bytes per GPU.
  double intra_node = 0.10;  // ε_i: intra-node bandwidth.
  // Constraint 3: slowest link inside ≥ fastest link leaving / (1 + ε_n).
  // 0 is the paper's constraint; raise it when measured links are noisy.
  double inter_node = 0.0;
};

// Groups the nodes of `cluster` into GPU islands (paper §4.1), disjoint and
// covering. Steps: split by GPUs per node, compute and memory; split by
// intra-node bandwidth; then merge nodes by agglomerative clustering on
// inter-node bandwidth (the slower direction of each pair) and keep the
// coarsest clusters whose inner links are at least as fast as their links to
// the rest of the cluster. Islands and the nodes in each are ordered by node
// name (NaturalLess); the order of nodes in `cluster` changes nothing else.
// Nodes of `left_out` are in no island.
std::vector<Island> BuildIslands(const Cluster& cluster, Precision precision,
                                 const IslandTolerances& tolerances,
                                 absl::Span<const int> left_out = {});

// The composition keeps a bit for each island, and bounds for each set of
// islands: 2^16 sets take 1 MB.
inline constexpr int kMaxIslands = 16;

// Bounds on the islands, and on the time that building them may take.
struct IslandLimits {
  int max_islands = kMaxIslands;
  // By node of the cluster: islands of nodes with different marks are merged
  // only if nothing else is left to merge. Empty: all nodes are alike.
  std::vector<int> marks;
  // Polled at least at every merge; may be empty.
  std::function<bool()> should_stop;
};

struct IslandSet {
  std::vector<Island> islands;
  std::vector<std::string> notes;  // What was merged and why; for people.
};

// The same, at most `limits.max_islands` of them: beyond that the most alike
// islands are merged (see merge_parts.h), and the answer says which. Takes
// O(n²) bytes and mostly O(n²) steps for n islands, with n at most kMaxBlocks.
// The one error is kCancelled.
absl::StatusOr<IslandSet> BuildIslandsWithin(const Cluster& cluster,
                                             Precision precision,
                                             const IslandTolerances& tolerances,
                                             absl::Span<const int> left_out,
                                             const IslandLimits& limits);

// The slowest link from any node of `from` to any node of `to`.
Link LinkBetweenIslands(const Cluster& cluster, const Island& from,
                        const Island& to);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_BUILD_ISLANDS_H_
