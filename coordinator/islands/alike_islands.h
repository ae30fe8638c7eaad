#ifndef TANGRAM_COORDINATOR_ISLANDS_ALIKE_ISLANDS_H_
#define TANGRAM_COORDINATOR_ISLANDS_ALIKE_ISLANDS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram {

// Two islands are alike if they have equal specs, and the cluster stays the
// same when all their nodes, in order, change places. So they can change places
// in any plan. Alike islands are alike to the same others. Returns for each
// island, in order, the first one that it is alike to: itself if there is none
// before it. Takes O(n²) comparisons of islands, by groups of nodes.
std::vector<int> FirstAlike(const Cluster& cluster,
                            absl::Span<const Island> islands);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_ALIKE_ISLANDS_H_
