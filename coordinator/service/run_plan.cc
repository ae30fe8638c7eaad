#include "coordinator/service/run_plan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "common/sim/explain_plan.h"
#include "coordinator/dispatch/remote_slice_plan_source.h"
#include "coordinator/planners/tangram/tangram_planner.h"

namespace tangram {

absl::StatusOr<PlanFile> RunPlan(WorkerPool& pool, const PlanOrder& order,
                                 PlanningMonitor& monitor,
                                 const std::function<bool()>& should_stop) {
  TANGRAM_ASSIGN_OR_RETURN(const AdapterInfo adapter,
                           pool.FindAdapter(order.parallelizer, should_stop));
  const auto source =
      CreateRemoteSlicePlanSource(pool, adapter.id, should_stop);
  TANGRAM_ASSIGN_OR_RETURN(PlanResult result,
                           CreateTangramPlanner(*source, order.options)
                               ->Plan(order.request, monitor));

  const PlanRequest& request = order.request;
  PlanFile file{.cluster = request.cluster,
                .model = request.model,
                .training = request.training,
                .result = std::move(result)};
  if (file.result.plan.has_value()) {
    file.explanation = ExplainPlan(request.model, request.cluster,
                                   *file.result.plan, file.result.evaluation);
  }
  file.provenance = {
      .tool_version = Version(),
      .parallelizer = absl::StrCat(adapter.id.name, " ", adapter.id.version),
      .phases = monitor.Finish(),
      .wall_s = monitor.wall_s(),
      .num_workers = pool.Counts().workers,
      .cache_hits = source->cache_hits()};
  return file;
}

}  // namespace tangram
