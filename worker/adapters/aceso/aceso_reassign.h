#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REASSIGN_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REASSIGN_H_

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Deals the island's GPUs out anew to the stages of a complete configuration,
// as many stages as before, while that makes it better. Primitives move GPUs
// between two stages at a time; this reaches orders of big and small stages
// that are many such moves away. Returns whether the configuration changed; it
// is complete again. In place of one that does not fit, one is looked for whose
// score is `limit_s` at most.
bool ReassignGpus(CostTables& tables, double limit_s,
                  Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REASSIGN_H_
