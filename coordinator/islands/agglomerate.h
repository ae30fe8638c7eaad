#ifndef TANGRAM_COORDINATOR_ISLANDS_AGGLOMERATE_H_
#define TANGRAM_COORDINATOR_ISLANDS_AGGLOMERATE_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"

namespace tangram {

// Step 3 of the island construction (paper §4.1): divides `nodes`, which are
// alike but for their links, into the coarsest clusters of a complete-linkage
// dendrogram of which each satisfies constraint 3,
//
//   slowest link inside ≥ fastest link leaving / (1 + tolerance),
//
// where links leave to any other node of `cluster` and a link is as fast as
// its slower direction. Ties merge in the order of `nodes`.
//
// Takes O(b²) bytes and mostly O(b²) steps for b blocks: a block is one node,
// or all nodes of a group whose inner link is its fastest. Beyond kMaxBlocks
// blocks all nodes of a group are one block, so they are kept together or each
// on its own. `should_stop`, which may be empty, is polled at every merge; the
// result is empty if it says so.
std::vector<std::vector<int>> AgglomerateByLinks(
    const Cluster& cluster, absl::Span<const int> nodes, double tolerance,
    const std::function<bool()>& should_stop = nullptr);

inline constexpr int kMaxBlocks = 2048;  // Linkages take 32 MB.

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_AGGLOMERATE_H_
