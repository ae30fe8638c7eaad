#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_BALANCE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_BALANCE_H_

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Moves the cuts between stages [first, last] of a complete configuration. The
// slowest of these stages becomes as fast as possible with the present degrees,
// and all of them fit in memory. If no cuts fit, the largest peak becomes as
// small as possible instead.
//
// Bisects on a bound that no stage may exceed. For one bound, stages take as
// many operators as they can, from the front. Returns whether a cut moved; the
// configuration is complete again.
bool BalanceCuts(CostTables& tables, int first, int last,
                 Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_BALANCE_H_
