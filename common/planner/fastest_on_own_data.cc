#include "common/planner/fastest_on_own_data.h"

namespace tangram {

const PlanAlternative* FastestOnOwnData(
    absl::Span<const PlanAlternative> alternatives,
    const RuntimeCatalogue& runtimes) {
  const PlanAlternative* fastest = nullptr;
  for (const PlanAlternative& entry : alternatives) {
    const absl::StatusOr<const PlanningRuntime*> runtime =
        runtimes.Find(entry.runtime);
    if (!runtime.ok() || !(*runtime)->ReadsData()) continue;
    if (!entry.iteration_time_s.has_value()) continue;
    if (fastest == nullptr ||
        *entry.iteration_time_s < *fastest->iteration_time_s) {
      fastest = &entry;
    }
  }
  return fastest;
}

}  // namespace tangram
