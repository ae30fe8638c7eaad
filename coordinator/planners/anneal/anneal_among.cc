#include "coordinator/planners/anneal/anneal_among.h"

#include <algorithm>
#include <cstddef>
#include <map>
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
  int num_steps;  // At most, for each plan.
  int num_rounds;
};
constexpr Heat kHeats[] = {{24, 3000, 2}, {8, 6000, 3}, {3, 16000, 4}};

// Plans of at least so many kinds are annealed together, if there are any.
constexpr size_t kKinds = 4;

// A step judges a plan of n stages and B microbatches, which takes about as
// long as n (kFixed + B) passes. Steps are as many as those of this many, and
// fewer, with the square, for problems of fewer GPUs times layers.
constexpr int kUsualPasses = 80;
constexpr int kFixedPasses = 8;
constexpr int kUsualSize = 80;

// The share of steps for a runtime, which runs fewer plans. To make a plan its
// own takes longer than to play it.
constexpr double kFittedShare = 0.25;

double SecondsOf(const JudgedPlan& plan) {
  return plan.evaluation.iteration_time_s;
}

int NumGpus(const AnnealProblem& problem) {
  int num_gpus = 0;
  for (const Island& island : problem.islands) {
    if ((problem.usable >> island.id & 1) == 0) continue;
    for (const int node : island.nodes) {
      num_gpus += problem.request.cluster->nodes[node].num_gpus;
    }
  }
  return num_gpus;
}

int StepsFor(const AnnealProblem& problem, const PipelinePlan& plan, int most) {
  const PlanRequest& request = problem.request;
  const int num_microbatches =
      request.training.global_batch_size / plan.pipeline_microbatch_size;
  const double passes = plan.num_stages() * (kFixedPasses + num_microbatches);
  const double size = NumGpus(problem) * request.model.num_layers();
  const double part =
      std::min(1.0, kUsualPasses / passes) * std::min(1.0, size / kUsualSize);
  return std::max(1, static_cast<int>(most * part));
}

// Plans of one kind have the same microbatch size, the same number of stages,
// and these on the same islands one after another. Annealing seldom leads from
// one kind to another.
using Kind = std::vector<int>;

Kind KindOf(const PipelinePlan& plan) {
  Kind kind = {plan.pipeline_microbatch_size, plan.num_stages()};
  for (const PlacedStage& stage : plan.stages) {
    if (&stage == &plan.stages.front() || kind.back() != stage.island) {
      kind.push_back(stage.island);
    }
  }
  return kind;
}

// Sorts plans by their time.
void Sort(std::vector<JudgedPlan>& plans) {
  absl::c_stable_sort(plans, [](const JudgedPlan& a, const JudgedPlan& b) {
    return SecondsOf(a) < SecondsOf(b);
  });
}

// Returns the fastest plans, at most so many, and of each kind a part of them.
// Equally fast plans are likely the same.
std::vector<JudgedPlan> Unlike(std::vector<JudgedPlan> plans, size_t most) {
  const size_t most_of_kind = (most + kKinds - 1) / kKinds;
  Sort(plans);
  std::map<Kind, size_t> of_kind;
  std::vector<JudgedPlan> unlike;
  for (JudgedPlan& plan : plans) {
    if (unlike.size() == most) break;
    if (!unlike.empty() && SecondsOf(plan) == SecondsOf(unlike.back())) {
      continue;
    }
    if (++of_kind[KindOf(plan.plan)] > most_of_kind) continue;
    unlike.push_back(std::move(plan));
  }
  return unlike;
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
    plans = Unlike(std::move(plans), heat.num_plans);
    options.num_rounds = heat.num_rounds;
    for (JudgedPlan& plan : plans) {
      ++options.seed;
      options.num_steps = StepsFor(problem, plan.plan, heat.num_steps);
      TANGRAM_ASSIGN_OR_RETURN(
          Annealed annealed, Anneal(problem, judge, std::move(plan), options));
      plan = std::move(annealed.best);
    }
  }
  Sort(plans);
  return std::move(plans.front());
}

}  // namespace tangram::anneal
