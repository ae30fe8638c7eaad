#include "coordinator/planners/anneal/anneal_among.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/anneal/candidate_judge.h"

namespace tangram::anneal {
namespace {

// How many plans are annealed, and how far.
struct Heat {
  size_t num_plans;
  int num_steps;  // Of each plan, at most.
  int num_rounds;
};
constexpr Heat kHeats[] = {{24, 3000, 2}, {8, 6000, 3}, {3, 16000, 4}};

// A step judges a plan of n stages and B microbatches, which takes about as
// long as n (kFixed + B) passes. Steps are as many as those of this many.
constexpr int kUsualPasses = 80;
constexpr int kFixedPasses = 8;

double SecondsOf(const JudgedPlan& plan) {
  return plan.evaluation.iteration_time_s;
}

int StepsFor(const AnnealProblem& problem, const PipelinePlan& plan, int most) {
  const int num_microbatches = problem.request.training.global_batch_size /
                               plan.pipeline_microbatch_size;
  const int passes = plan.num_stages() * (kFixedPasses + num_microbatches);
  return std::max(1, most * kUsualPasses / std::max(passes, kUsualPasses));
}

// Sorts plans by their time, and drops those as fast as another: they are
// likely the same.
void SortUnlike(std::vector<JudgedPlan>& plans) {
  absl::c_stable_sort(plans, [](const JudgedPlan& a, const JudgedPlan& b) {
    return SecondsOf(a) < SecondsOf(b);
  });
  plans.erase(std::unique(plans.begin(), plans.end(),
                          [](const JudgedPlan& a, const JudgedPlan& b) {
                            return SecondsOf(a) == SecondsOf(b);
                          }),
              plans.end());
}

}  // namespace

absl::StatusOr<JudgedPlan> AnnealAmong(const AnnealProblem& problem,
                                       std::vector<JudgedPlan> starts,
                                       PlanObserver& observer) {
  TANGRAM_CHECK(!starts.empty());
  CandidateJudge judge(problem);
  std::vector<JudgedPlan> plans = std::move(starts);
  AnnealOptions options{.seed = 0,
                        .should_stop = [&] { return observer.ShouldStop(); }};
  for (const Heat& heat : kHeats) {
    SortUnlike(plans);
    if (plans.size() > heat.num_plans) plans.resize(heat.num_plans);
    options.num_rounds = heat.num_rounds;
    for (JudgedPlan& plan : plans) {
      ++options.seed;
      options.num_steps = StepsFor(problem, plan.plan, heat.num_steps);
      TANGRAM_ASSIGN_OR_RETURN(
          Annealed annealed, Anneal(problem, judge, std::move(plan), options));
      plan = std::move(annealed.best);
    }
  }
  SortUnlike(plans);
  return std::move(plans.front());
}

}  // namespace tangram::anneal
