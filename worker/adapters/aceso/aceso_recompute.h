#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_H_

#include <vector>

#include "common/domain/stage_plan.h"
#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// As little recomputation as lets the stage fit in memory: the lowest level
// that fits, with as few layers on it as fit. Where none fits, the level that
// needs the fewest bytes. O(levels + log layers).
StageFigures EstimateFigures(CostTables& tables, const StageShape& shape);

// Whether the stage fits with the most recomputation. O(1).
bool CanFit(CostTables& tables, const StageShape& shape);

// The masks of the stage's layers, clipped to the operators it holds.
std::vector<RecomputeRun> RecomputeRunsOf(CostTables& tables,
                                          const StageShape& shape,
                                          const RecomputeChoice& choice);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_H_
