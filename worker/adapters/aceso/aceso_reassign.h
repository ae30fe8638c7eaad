#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REASSIGN_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REASSIGN_H_

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Reassigns the island's GPUs among the stages of a complete configuration,
// keeping their number, while the score improves. Primitives move GPUs between
// two stages at a time; this reaches assignments that are many such moves away.
// If the configuration does not fit, looks for one with a score of at most
// `limit_s`. Returns whether the configuration changed; it is complete again.
bool ReassignGpus(CostTables& tables, double limit_s,
                  Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_REASSIGN_H_
