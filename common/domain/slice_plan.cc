#include "common/domain/slice_plan.h"

#include <algorithm>

namespace tangram {

double SlicePlan::slowest_stage_s() const {
  double slowest = 0;
  for (const SliceStage& stage : stages) {
    slowest = std::max(slowest, stage.time_s);
  }
  return slowest;
}

double SlicePlan::latency_s() const {
  double total = 0;
  for (const SliceStage& stage : stages) total += stage.time_s;
  return total;
}

}  // namespace tangram
