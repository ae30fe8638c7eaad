#include "worker/adapters/process/estimate_plans.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "common/domain/plan_merits.h"
#include "common/parallelizer/plan_figures.h"

namespace tangram {
namespace {

// Sets the estimates of `plan`. Returns the bytes that it lacks.
double Estimate(const PlanEstimator& estimator, SlicePlan& plan) {
  const std::vector<StageFigures> figures = estimator.FiguresOf(plan);
  for (int i = 0; i < plan.num_stages(); ++i) {
    plan.stages[i].time_s = figures[i].time_s;
    plan.stages[i].backward_s = figures[i].backward_s;
    plan.stages[i].sync_s = figures[i].sync_s;
  }
  plan.max_trailing_stages = estimator.TrailingStages(figures);
  return estimator.BytesShort(figures);
}

}  // namespace

// A plan that does not bear the query's trailing stages does not fit. If none
// fits, reports the least shortage.
void EstimatePlans(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options, SlicePlanSet& answer) {
  const PlanEstimator estimator(slice, island, options);
  double least_short = std::numeric_limits<double>::infinity();
  std::vector<SlicePlan> fitting;
  for (SlicePlan& plan : answer.plans) {
    least_short = std::min(least_short, Estimate(estimator, plan));
    if (plan.max_trailing_stages < options.trailing_stages) continue;
    fitting.push_back(std::move(plan));
  }
  const bool had_plans = !answer.plans.empty();
  KeepNonDominated(fitting);
  answer.plans = std::move(fitting);
  if (had_plans && answer.plans.empty()) {
    answer.infeasible = {.reason = "does not fit in memory",
                         .bytes_short = std::max(least_short, 0.0)};
  }
}

}  // namespace tangram
