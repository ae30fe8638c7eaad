#include "cli/local_planning.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "coordinator/dispatch/local_slice_plan_source.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

int NumThreads(const PlanningSetup& setup) {
  if (setup.num_threads > 0) return setup.num_threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

absl::StatusOr<PlanFile> PlanLocally(const PlanRequest& request,
                                     const PlanningSetup& setup,
                                     const StopCondition& stop,
                                     ProgressLine& line) {
  TANGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<Parallelizer> parallelizer,
                           CreateBuiltinParallelizer(setup.parallelizer));
  const int num_threads = NumThreads(setup);
  const auto source = CreateLocalSlicePlanSource(
      *parallelizer, num_threads, [&stop] { return stop.ShouldStop(); });
  const auto planner = CreateTangramPlanner(*source, setup.search);

  PlanMonitor monitor(line, stop);
  absl::StatusOr<PlanResult> result = planner->Plan(request, monitor);
  std::vector<PhaseTime> phases = monitor.Finish();
  if (!result.ok()) return std::move(result).status();

  PlanFile file{
      .cluster = request.cluster,
      .model = request.model,
      .training = request.training,
      .result = *std::move(result),
      .provenance = {.tool_version = Version(),
                     .parallelizer = absl::StrCat(parallelizer->name(), " ",
                                                  parallelizer->version()),
                     .num_workers = num_threads}};
  for (const PhaseTime& phase : phases) file.provenance.wall_s += phase.wall_s;
  file.provenance.phases = std::move(phases);
  return file;
}

}  // namespace tangram
