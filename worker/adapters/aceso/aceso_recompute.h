#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_H_

#include <vector>

#include "common/domain/stage_plan.h"
#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Estimates a stage with the least recomputation that lets it fit in memory:
// the lowest level that fits, with as few layers on it as possible. If none
// fits, uses the level that needs the fewest bytes. O(levels + log layers).
StageFigures EstimateFigures(CostTables& tables, const StageShape& shape);

// Returns whether the stage fits with the most recomputation. O(kinds).
bool CanFit(CostTables& tables, const StageShape& shape);

// Returns the masks of the stage's layers, restricted to the operators that the
// stage holds.
std::vector<RecomputeRun> RecomputeRunsOf(CostTables& tables,
                                          const StageShape& shape,
                                          const RecomputeChoice& choice);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_RECOMPUTE_H_
