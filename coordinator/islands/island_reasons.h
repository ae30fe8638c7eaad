#ifndef TANGRAM_COORDINATOR_ISLANDS_ISLAND_REASONS_H_
#define TANGRAM_COORDINATOR_ISLANDS_ISLAND_REASONS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "coordinator/islands/homogeneous_classes.h"

namespace tangram {

// Sets Island::reason to what separates each island from the island most like
// it, which is the one that the most splits left together with it.
// `class_of[i]` is the class of islands[i].
void ExplainIslands(const Cluster& cluster,
                    absl::Span<const HomogeneousClass> classes,
                    absl::Span<const int> class_of, Precision precision,
                    const IslandTolerances& tolerances,
                    std::vector<Island>& islands);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_ISLAND_REASONS_H_
