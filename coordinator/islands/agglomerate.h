#ifndef TANGRAM_COORDINATOR_ISLANDS_AGGLOMERATE_H_
#define TANGRAM_COORDINATOR_ISLANDS_AGGLOMERATE_H_

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
std::vector<std::vector<int>> AgglomerateByLinks(const Cluster& cluster,
                                                 absl::Span<const int> nodes,
                                                 double tolerance);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_AGGLOMERATE_H_
