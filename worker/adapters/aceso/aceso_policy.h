#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_POLICY_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_POLICY_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_primitives.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

using PrimitiveGroup = absl::InlinedVector<Primitive, kNumPrimitives>;

// Stages from the worst bottleneck to the least: by memory while some stage
// does not fit, else by time. Ties by index.
std::vector<int> StagesByBottleneck(const Configuration& configuration);

// The primitives for a bottleneck stage in the order in which to try them
// (paper §3.2, §4.1). While memory lacks, those that save memory. Otherwise the
// resource of which the stage has the largest share of the pipeline's total
// decides: useful work, work lost to parallelising it, recomputation. First the
// primitives that save this resource and do not cost one that is scarce here,
// then the others that save it; then the next resource.
std::vector<PrimitiveGroup> PrimitiveGroups(CostTables& tables,
                                            const Configuration& configuration,
                                            int bottleneck);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_POLICY_H_
