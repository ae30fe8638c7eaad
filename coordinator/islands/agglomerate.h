#ifndef TANGRAM_COORDINATOR_ISLANDS_AGGLOMERATE_H_
#define TANGRAM_COORDINATOR_ISLANDS_AGGLOMERATE_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"

namespace tangram {

// Divides `nodes`, which are alike but for their links, into islands: step 3 of
// the island construction (paper §4.1). Merges nodes into a complete-linkage
// dendrogram and returns its coarsest clusters that satisfy constraint 3,
//
//   slowest link inside ≥ fastest link leaving / (1 + tolerance).
//
// Links leave to any other node of `cluster`. The bandwidth of a link is that
// of its slower direction. Ties merge in the order of `nodes`.
//
// Takes O(b²) bytes and mostly O(b²) steps for b blocks. A block is one node,
// or all nodes of a group whose inner link is its fastest. Beyond kMaxBlocks
// blocks, every group is one block: its nodes stay together or are all
// separated. `should_stop` may be empty. It is polled at every merge, and the
// result is empty if it returns true.
std::vector<std::vector<int>> AgglomerateByLinks(
    const Cluster& cluster, absl::Span<const int> nodes, double tolerance,
    const std::function<bool()>& should_stop = nullptr);

// Bounds memory: the linkages of 2048² pairs of blocks take 32 MB.
inline constexpr int kMaxBlocks = 2048;

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_AGGLOMERATE_H_
