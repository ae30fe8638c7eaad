#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_POLICY_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_POLICY_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_primitives.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Primitives that are tried together; the best result is followed first.
using PrimitiveGroup = absl::InlinedVector<Primitive, kNumPrimitives>;

// Orders the stages from the worst bottleneck to the least. The key is memory
// while some stage does not fit, else time. Ties go to the lower index.
std::vector<int> StagesByBottleneck(const Configuration& configuration);

// Returns the primitives for a bottleneck stage in the order in which to try
// them (paper §3.2, §4.1). While some stage lacks memory, these are the
// primitives that save memory. Otherwise resources are taken in the order of
// the stage's share of the pipeline's total: useful work, work lost to
// parallelising it, recomputation. For each resource, the primitives that save
// it and spend no scarce resource come first, then the others that save it.
std::vector<PrimitiveGroup> PrimitiveGroups(CostTables& tables,
                                            const Configuration& configuration,
                                            int bottleneck);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_POLICY_H_
