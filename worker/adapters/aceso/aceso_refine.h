#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REFINE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REFINE_H_

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Gives the stages of a complete configuration that fits the cuts and degrees
// with the least score, of all cuts near theirs together with all degrees on
// the GPUs that they have; again, from there, while the score falls. Balanced
// cuts make the slowest stage as fast as can be; this also weighs transfers,
// the latency and gradient synchronisation. Returns whether the configuration
// changed; it is complete again.
bool Refine(CostTables& tables, Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REFINE_H_
