#include "tests/testing/planning/planning.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/parallelizer/parallelizer_list.h"
#include "coordinator/dispatch/local_slice_plan_source.h"
#include "coordinator/dispatch/task_threads.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"
#include "frameworks/framework_catalogue.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {

absl::StatusOr<PlanResult> PlanLocally(const PlanRequest& request,
                                       const std::string& parallelizers,
                                       const TangramOptions& options,
                                       int num_threads,
                                       const std::string& planner,
                                       const PlannerOptionText& text) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           SplitParallelizerList(parallelizers));
  TaskThreads threads(num_threads);
  std::vector<std::unique_ptr<Parallelizer>> adapters;
  std::vector<std::unique_ptr<SlicePlanSource>> sources;
  std::vector<PortfolioMember> members;
  for (const std::string& name : names) {
    TANGRAM_ASSIGN_OR_RETURN(adapters.emplace_back(),
                             CreateBuiltinParallelizer(name));
    sources.push_back(CreateLocalSlicePlanSource(*adapters.back(), num_threads,
                                                 nullptr, {}, &threads));
    members.push_back({.parallelizer = name, .source = sources.back().get()});
  }
  SilentObserver observer;
  TANGRAM_ASSIGN_OR_RETURN(PlannerChoice choice,
                           BuiltinPlanners().Choose(planner, text, options));
  if (num_threads > 1) choice.search.tasks = &threads;
  return CreatePortfolioPlanner(std::move(members), std::move(choice),
                                FrameworkCatalogue())
      ->Plan(request, observer);
}

PlanRequest TestRequest(const std::vector<TestGroup>& groups) {
  return {.cluster = TestCluster(groups, 2e9),
          .model = TestModel(6, 2048),
          .training = TestTraining(16)};
}

}  // namespace tangram::testing
