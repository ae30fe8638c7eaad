#include "common/parallelizer/trailing_stages.h"

#include <algorithm>

#include "common/domain/slice_plan.h"

namespace tangram {
namespace {

// Returns the largest number m < limit of microbatches in flight that fit:
//   m = ⌊(capacity − static − transient) / activation⌋, at least 0.
int MostInFlight(const StageMemory& memory, double capacity_bytes, int limit) {
  if (memory.activation_bytes <= 0) return 0;
  const double room =
      capacity_bytes - memory.static_bytes - memory.transient_bytes;
  int most = static_cast<int>(
      std::clamp(room / memory.activation_bytes, 0.0, limit - 1.0));
  // The division may round up across a whole number.
  while (most > 0 && memory.PeakBytes(most) > capacity_bytes) --most;
  return most;
}

}  // namespace

int TrailingStagesBorne(const StageMemory& memory, double capacity_bytes,
                        int stages_behind, int num_microbatches) {
  if (memory.PeakBytes(num_microbatches) <= capacity_bytes) {
    return kUnlimitedTrailingStages;
  }
  return MostInFlight(memory, capacity_bytes, num_microbatches) -
         (stages_behind + 1);
}

}  // namespace tangram
