#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_BALANCE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_BALANCE_H_

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

enum class Metric { kTime, kMemory };

// Moves the cuts between stages [first, last] of a completed configuration so
// that the worst of them by `metric` is as good as can be with their degrees.
// By time, a stage that does not fit in memory is infinitely slow.
//
// Bisects on a bound that no stage may pass; for one bound, stages take as many
// operators as they may, from the front. Returns whether a cut moved; the
// configuration is to be completed again.
bool BalanceCuts(CostTables& tables, int first, int last, Metric metric,
                 Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_BALANCE_H_
