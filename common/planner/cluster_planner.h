#ifndef TANGRAM_COMMON_PLANNER_CLUSTER_PLANNER_H_
#define TANGRAM_COMMON_PLANNER_CLUSTER_PLANNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/slice_plan.h"
#include "common/domain/training_options.h"
#include "common/planner/plan_constraints.h"
#include "common/domain/replicated_plan.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/evaluate_replicated_plan.h"

namespace tangram {

struct PlanRequest {
  Cluster cluster;
  ModelSpec model;
  TrainingOptions training;
  // 0: try every useful one.
  int pipeline_microbatch_size = 0;
  PlanConstraints constraints;
};

// The phases of planning, for progress and timing.
enum class PlanPhase {
  kIslands,
  kProfiling,
  kEnumeration,
  kSlicePlans,
  kComposition,
  kEvaluation,
};

// Told what happens while planning; must not slow it. Calls come from the
// planning thread, OnPairs from any, one at a time.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  // `phase` begins; the one before it has ended. Phases repeat.
  virtual void OnPhase(PlanPhase phase) = 0;
  virtual void OnPairs(int done, int total) = 0;
  virtual void OnBest(double iteration_time_s) = 0;
  // Polled; true makes Plan return kCancelled soon.
  virtual bool ShouldStop() = 0;
};

// How many pairs each step left, over all microbatch sizes. The ablation of the
// paper's §6.4 is read off these.
struct PlanningStats {
  int64_t pairs = 0;  // Slices × islands × microbatch sizes.
  int64_t pruned_redundant = 0;
  int64_t pruned_imbalanced = 0;
  int64_t pruned_incompatible = 0;  // Fit no position in any pipeline.
  int64_t pruned_infeasible = 0;    // By minimum memory, before asking.
  int64_t queries = 0;              // Parallelize calls, repeats included.
  int64_t requeries = 0;            // Of these, for more trailing stages.
  int64_t infeasible_answers = 0;
  int64_t slice_plans = 0;         // Received.
  int64_t incompatible_plans = 0;  // Received, but fit no pipeline position.
  int64_t search_steps = 0;        // Σ over answers.
  int64_t compositions = 0;        // Dynamic programmes run.
  int64_t finalists = 0;           // Whole plans scored by the evaluator.
  bool truncated = false;          // Some answer was cut short.
};

// An island that the plan does not use, and why.
struct UnusedIsland {
  int island = 0;
  std::string reason;
  // Best plan found that does use it; empty if none.
  std::optional<double> best_with_it_s;
};

// One way to plan that was tried where several parallelizers were asked.
struct PlanAlternative {
  std::vector<std::string> parallelizers;
  // Whose limits a mix of several parallelizers' slice plans kept to; empty for
  // one alone.
  std::string runtime;
  std::optional<double> iteration_time_s;
  std::string reason;  // Why there is no plan.
};

// A pipeline that fits and was not chosen.
struct RunnerUp {
  std::vector<int> islands;  // Those it uses, ascending.
  int num_stages = 0;
  int pipeline_microbatch_size = 0;
  double iteration_time_s = 0;
  bool operator==(const RunnerUp&) const = default;
};

struct PlanResult {
  std::vector<Island> islands;
  // Where the runtime that was asked for trains otherwise than the request: how
  // it does, which is what was planned for.
  std::optional<TrainingOptions> training;
  // Empty: no plan fits, and `infeasible` says why.
  std::optional<PipelinePlan> plan;
  // In place of `plan` and its evaluation: several pipelines. No planner
  // returns it; a plan file may hold it.
  std::optional<ReplicatedPlan> replicated_plan;
  ReplicatedEvaluation replicated_evaluation;
  std::optional<Infeasible> infeasible;
  Evaluation evaluation;  // Of `plan`.
  std::vector<UnusedIsland> unused_islands;
  // The fastest of those that the evaluator scored, fastest first: what the
  // next-best plan would cost.
  std::vector<RunnerUp> runners_up;
  // A lower bound on the simulated iteration time of every composition of the
  // slice plans that were asked for, so at most that of `plan`. It says nothing
  // of slice plans that pruning left unasked, nor of plans that are no such
  // composition. 0: none was proven.
  double lower_bound_s = 0;
  // The planner's own estimate of the iteration time of `plan`, by which it
  // preferred it; see Proposal::predicted_s. 0: none.
  double closed_form_s = 0;
  // Empty where one parallelizer was asked. Figures above are of the best.
  std::vector<PlanAlternative> alternatives;
  PlanningStats stats;             // Of all alternatives.
  std::vector<std::string> notes;  // For people; deterministic.
};

// Plans a model on a heterogeneous cluster, with a judged answer. Planners do
// not implement it: they propose plans (see planner.h), and a judge makes
// this of them.
//
// Errors: kInvalidArgument for a bad request (naming field and value),
// kCancelled, and what the source of slice plans returns.
class ClusterPlanner {
 public:
  virtual ~ClusterPlanner() = default;
  virtual absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                          PlanObserver& observer) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_CLUSTER_PLANNER_H_
