#include "coordinator/planners/portfolio/judged_choice.h"

#include "coordinator/planners/judge/judged_planner.h"
#include "coordinator/planners/polish/demanded_schedule.h"
#include "coordinator/planners/polish/polish_result.h"

namespace tangram {

Reach FurthestReach(const PlannerChoice& choice) {
  if (!choice.search.polishes_far) return Reach::kNear;
  return choice.search.schedules ? Reach::kSchedules : Reach::kFar;
}

std::unique_ptr<ClusterPlanner> CreateJudgedPlanner(
    const PlannerChoice& choice, SlicePlanSource& source,
    const PipelineRules& asked) {
  PipelineRules rules = asked;
  JudgeOptions options{.min_island_gain = choice.search.min_island_gain,
                       .rules = asked,
                       .tasks = choice.search.tasks};
  options.reschedule = [asked, schedules = choice.search.schedules](
                           const PlanRequest& request, const PipelinePlan& plan,
                           PlanObserver& observer) {
    return schedules ? FitFaster(request, asked, plan, observer)
                     : FitAsDemanded(request, asked, plan, observer);
  };
  // Plans for a runtime are polished once its searches are done.
  if (choice.search.polish && !rules.fit) {
    rules.worth_refining = kWorthRefining;
    options.refine = [asked, reach = FurthestReach(choice),
                      tasks = choice.search.tasks](const PlanRequest& request,
                                                   PlanObserver& observer,
                                                   PlanResult& result) {
      return PolishResult(request, asked, reach, observer, result, tasks);
    };
  }
  return CreateJudgedPlanner(choice.Create(source, rules), options);
}

}  // namespace tangram
