#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ESTIMATE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ESTIMATE_H_

#include "common/cost/collectives.h"
#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Returns the path from one stage of a configuration to the next.
TransferPath PathBetween(const CostTables& tables, const ConfiguredStage& from,
                         const ConfiguredStage& to);

// Returns the seconds that the sender pays to send activations over the cut at
// `position`, and gradients back.
double SendSeconds(const CostTables& tables, const TransferPath& path,
                   int position);

// Returns the seconds of a stage's exposed gradient reduction and optimizer
// step.
double SyncSeconds(CostTables& tables, const StageShape& shape,
                   const StageFigures& figures);

// Fills everything that follows from the stages' shapes. With stage times t_s,
// B microbatches and synchronisation g_s, in seconds:
//   score = Σ t_s + (B − 1)·max t_s + max_s (g_s − Σ_{i<s} backward_i)⁺
// Deviates from the paper, whose score has no synchronisation.
void Complete(CostTables& tables, Configuration& configuration);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ESTIMATE_H_
