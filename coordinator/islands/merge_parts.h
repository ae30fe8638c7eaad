#ifndef TANGRAM_COORDINATOR_ISLANDS_MERGE_PARTS_H_
#define TANGRAM_COORDINATOR_ISLANDS_MERGE_PARTS_H_

#include <vector>

#include "common/domain/cluster.h"
#include "coordinator/islands/build_islands.h"

namespace tangram {

// The nodes of one island under construction.
struct Part {
  std::vector<int> nodes;     // Nodes of merged parts follow one another.
  int homogeneous_class = 0;  // Class of its first node.
  int num_merged = 1;         // Number of original parts in it.
};

// Merges `parts` until at most limits.max_islands are left. Each step merges
// the two parts a and b with the least loss. Every GPU of the union ab counts
// as the weakest. Let N_x, C_x and M_x be the GPUs, FLOP/s and bytes of part x,
// and N, C and M their sums over all parts:
//
//   loss(a, b) = (C_a + C_b − C_ab) / C + (M_a + M_b − M_ab) / M
//              + w/N · Σ_{x in a, b} N_x · (1 − l_ab / l_x),
//
// where l_ab is the slowest link in the union, and l_x the slowest link in x,
// or the fastest link of the cluster if x is one node. The weight w of the last
// term is small: parallelizers put pipeline stages on both sides of a slow
// link, which costs less than slow GPUs do. Parts with different marks lose
// more than any others. Ties go to the parts that come first.
//
// Above kMaxBlocks parts, those of one class and group are merged first. Takes
// O(n²) bytes and mostly O(n²) steps for n parts, also if all losses are equal.
// Polls limits.should_stop for every part and at every merge, which are O(n²)
// steps apart, and returns early if it returns true.
std::vector<Part> MergeParts(const Cluster& cluster, Precision precision,
                             const IslandLimits& limits,
                             std::vector<Part> parts);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_MERGE_PARTS_H_
