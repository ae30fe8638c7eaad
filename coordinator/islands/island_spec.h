#ifndef TANGRAM_COORDINATOR_ISLANDS_ISLAND_SPEC_H_
#define TANGRAM_COORDINATOR_ISLANDS_ISLAND_SPEC_H_

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram {

// Returns the island that a parallelizer sees: the weakest value of every field
// over `nodes`, including the number of GPUs per node, and the slowest link
// between them. `nodes` is not empty.
IslandSpec WeakestSpec(const Cluster& cluster, absl::Span<const int> nodes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_ISLAND_SPEC_H_
