#include "tests/testing/planning/planning.h"

#include <memory>

#include "common/base/status_macros.h"
#include "coordinator/dispatch/local_slice_plan_source.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {

absl::StatusOr<PlanResult> PlanLocally(const PlanRequest& request,
                                       const std::string& parallelizer,
                                       const TangramOptions& options,
                                       int num_threads) {
  TANGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<Parallelizer> adapter,
                           CreateBuiltinParallelizer(parallelizer));
  const std::unique_ptr<SlicePlanSource> source =
      CreateLocalSlicePlanSource(*adapter, num_threads);
  SilentObserver observer;
  return CreateTangramPlanner(*source, options)->Plan(request, observer);
}

}  // namespace tangram::testing
