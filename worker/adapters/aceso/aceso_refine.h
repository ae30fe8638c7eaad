#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REFINE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REFINE_H_

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Improves the cuts and degrees of a complete configuration that fits. Finds
// the least score over all cuts near the present ones and all degrees on the
// stages' present GPUs. Repeats from there while the score falls. Balanced cuts
// only minimise the slowest stage; this also weighs transfers, latency and
// gradient synchronisation. Returns whether the configuration changed; it is
// complete again. Ends early if tables.poll() stops.
bool Refine(CostTables& tables, Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REFINE_H_
