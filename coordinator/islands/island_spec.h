#ifndef TANGRAM_COORDINATOR_ISLANDS_ISLAND_SPEC_H_
#define TANGRAM_COORDINATOR_ISLANDS_ISLAND_SPEC_H_

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram {

// What a parallelizer is told of `nodes`: the weakest node's value of every
// field, the number of GPUs included, and the slowest of the links between
// them.
IslandSpec WeakestSpec(const Cluster& cluster, absl::Span<const int> nodes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_ISLAND_SPEC_H_
