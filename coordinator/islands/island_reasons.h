#ifndef TANGRAM_COORDINATOR_ISLANDS_ISLAND_REASONS_H_
#define TANGRAM_COORDINATOR_ISLANDS_ISLAND_REASONS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "coordinator/islands/homogeneous_classes.h"

namespace tangram {

// Says in Island::reason what separates each of `islands` from the island that
// is most like it: the one that stayed with it through most splits. `class_of`
// is the class of each island.
void ExplainIslands(const Cluster& cluster,
                    absl::Span<const HomogeneousClass> classes,
                    absl::Span<const int> class_of, Precision precision,
                    const IslandTolerances& tolerances,
                    std::vector<Island>& islands);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_ISLANDS_ISLAND_REASONS_H_
