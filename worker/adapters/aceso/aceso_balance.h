#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_BALANCE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_BALANCE_H_

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Moves the cuts between stages [first, last] of a complete configuration so
// that the slowest of them is as fast as can be with their degrees and still
// fits in memory. Where no cuts fit, so that the largest is as small as can be.
//
// Bisects on a bound that no stage may pass; for one bound, stages take as many
// operators as they may, from the front. Returns whether a cut moved; the
// configuration is complete again.
bool BalanceCuts(CostTables& tables, int first, int last,
                 Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_BALANCE_H_
