#include "worker/adapters/process/estimate_plans.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/domain/plan_merits.h"
#include "common/parallelizer/keep_within.h"
#include "common/parallelizer/plan_figures.h"
#include "worker/adapters/search/why_no_plan.h"

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
// fits, reports the least shortage of a plan within the limits. Plans outside
// the limits are dropped before dominated ones, because they may dominate the
// others.
void EstimatePlans(const ModelSlice& slice, const IslandSpec& island,
                   const ParallelizeOptions& options, SlicePlanSet& answer) {
  if (answer.plans.empty()) return;
  const PlanEstimator estimator(slice, island, options);
  std::optional<double> least_short;
  std::vector<SlicePlan> fitting;
  for (SlicePlan& plan : answer.plans) {
    const double bytes_short = Estimate(estimator, plan);
    if (plan.max_trailing_stages >= options.trailing_stages) {
      fitting.push_back(std::move(plan));
    } else if (WhyOutside(island.limits, slice, plan).empty()) {
      NoteShortage(std::max(bytes_short, 0.0), least_short);
    }
  }
  answer.plans = std::move(fitting);
  SettleWithin(island.limits, slice, options.trailing_stages, answer);
  KeepNonDominated(answer.plans);
  if (answer.plans.empty()) answer.infeasible = WhyNoPlan(least_short);
}

}  // namespace tangram
