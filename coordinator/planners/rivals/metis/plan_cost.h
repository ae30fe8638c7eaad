#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_PLAN_COST_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_PLAN_COST_H_

#include <vector>

#include "coordinator/planners/rivals/metis/metis_input.h"
#include "coordinator/planners/rivals/metis/stage_work.h"

namespace tangram {

// A plan while it is searched: stage s is places[s] with works[s] and the
// layers [bounds[s], bounds[s + 1]).
struct WorkPlan {
  int batches = 1;
  int costed_stages = 0;
  std::vector<StagePlace> places;
  std::vector<const StageWork*> works;
  std::vector<int> bounds;
};

// In MB, of all GPUs of a stage.
struct TightestMemory {
  double capacity = 0;
  double demand = 0;
  double slack() const { return capacity - demand; }
};

// The memory of the replica that comes closest to its limit, times the GPUs of
// the stage. With 1F1B, stage s of S holds min(S - s, batches) microbatches.
TightestMemory MemoryOf(const MetisInput& input, const MetisSettings& settings,
                        const StageWorks& works, const WorkPlan& plan,
                        int stage);

// The time of an iteration by the cost model of Metis (ATC'24).
double CostMs(const MetisInput& input, const MetisSettings& settings,
              const StageWorks& works, const WorkPlan& plan);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_PLAN_COST_H_
