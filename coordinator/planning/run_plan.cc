#include "coordinator/planning/run_plan.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/build_info.h"
#include "common/parallelizer/parallelizer_list.h"
#include "common/wire/answered_request.h"
#include "coordinator/dispatch/remote_slice_plan_source.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "frameworks/framework_catalogue.h"

namespace tangram {
namespace {

// The parallelizers that an order names, each with its source of slice plans.
struct Members {
  std::vector<std::unique_ptr<RemoteSlicePlanSource>> sources;
  std::vector<PortfolioMember> members;
  std::string versions;  // E.g. "aceso 1, mist 1".

  int64_t cache_hits() const {
    int64_t hits = 0;
    for (const auto& source : sources) hits += source->cache_hits();
    return hits;
  }
};

absl::StatusOr<Members> FindMembers(WorkerPool& pool, const std::string& list,
                                    const std::function<bool()>& should_stop,
                                    QueryLog* log, const BatchShare& share) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           list == kAllParallelizers
                               ? pool.AdapterNames(should_stop)
                               : SplitParallelizerList(list));
  Members found;
  for (const std::string& name : names) {
    TANGRAM_ASSIGN_OR_RETURN(const AdapterInfo adapter,
                             pool.FindAdapter(name, should_stop));
    found.sources.push_back(
        CreateRemoteSlicePlanSource(pool, adapter.id, should_stop, log, share));
    found.members.push_back({.parallelizer = adapter.id.name,
                             .source = found.sources.back().get()});
    absl::StrAppend(&found.versions, found.versions.empty() ? "" : ", ",
                    adapter.id.name, " ", adapter.id.version);
  }
  return found;
}

}  // namespace

absl::StatusOr<PlanFile> RunPlan(WorkerPool& pool, PlanOrder order,
                                 PlanningMonitor& monitor,
                                 const std::function<bool()>& should_stop,
                                 QueryLog* log, const BatchShare& share) {
  TANGRAM_ASSIGN_OR_RETURN(
      const Members members,
      FindMembers(pool, order.parallelizer, should_stop, log, share));
  TANGRAM_ASSIGN_OR_RETURN(
      PlanResult result, CreatePortfolioPlanner(members.members, order.planner,
                                                FrameworkCatalogue())
                             ->Plan(order.request, monitor));

  PlanFile file = AnsweredRequest(std::move(order.request), std::move(result));
  file.planner = order.planner.planner->name;
  file.planner_options = std::move(order.planner_options);
  file.provenance = {.tool_version = Version(),
                     .parallelizer = members.versions,
                     .phases = monitor.Finish(),
                     .wall_s = monitor.wall_s(),
                     .num_workers = pool.Counts().workers,
                     .cache_hits = members.cache_hits()};
  return file;
}

}  // namespace tangram
