#ifndef TANGRAM_COORDINATOR_ISLANDS_MERGE_PARTS_H_
#define TANGRAM_COORDINATOR_ISLANDS_MERGE_PARTS_H_

#include <vector>

#include "common/domain/cluster.h"
#include "coordinator/islands/build_islands.h"

namespace tangram {

// The nodes of one island while islands are made.
struct Part {
  std::vector<int> nodes;     // In the order of the parts given.
  int homogeneous_class = 0;  // Of its first node.
  int num_merged = 1;         // Parts that it was made of.
};

// Merges `parts` until at most limits.max_islands are left. Each step joins the
// two parts that lose least as one island, whose every GPU counts as the
// weakest. With N, C and M the GPUs, their FLOP/s and their bytes of all parts,
// and for a part x its GPUs N_x, FLOP/s C_x and bytes M_x,
//
//   loss(a, b) = (C_a + C_b − C_ab) / C + (M_a + M_b − M_ab) / M
//              + w/N · Σ_{x in a, b} N_x · (1 − l_ab / l_x),
//
// where l_ab is the slowest link in the union, and l_x the slowest link in x,
// or the fastest of the cluster if x is one node. The last term has a small
// weight: parallelizers put pipeline stages on both sides of a slow link, which
// costs less than slow GPUs do. Parts whose marks differ lose more than any
// others. Ties go to the parts that come first.
//
// Above kMaxBlocks parts, those of one class and group are merged first. Takes
// O(n²) bytes and mostly O(n²) steps for n parts. Polls limits.should_stop at
// every merge, and returns early if it says so.
std::vector<Part> MergeParts(const Cluster& cluster, Precision precision,
                             const IslandLimits& limits,
                             std::vector<Part> parts);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_MERGE_PARTS_H_
