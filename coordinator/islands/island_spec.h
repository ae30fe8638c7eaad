#ifndef TANGRAM_COORDINATOR_ISLANDS_ISLAND_SPEC_H_
#define TANGRAM_COORDINATOR_ISLANDS_ISLAND_SPEC_H_

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"

namespace tangram {

// What a parallelizer is told of `nodes`, which have the same number of GPUs:
// of every field the weakest node's value, of the links between them the
// slowest.
IslandSpec WeakestSpec(const Cluster& cluster, absl::Span<const int> nodes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_ISLAND_SPEC_H_
