#ifndef TANGRAM_COMMON_PLANNER_CLUSTER_PLANNER_H_
#define TANGRAM_COMMON_PLANNER_CLUSTER_PLANNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/shared.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/prediction_band.h"
#include "common/domain/replicated_plan.h"
#include "common/domain/slice_plan.h"
#include "common/domain/training_options.h"
#include "common/planner/plan_constraints.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/evaluate_replicated_plan.h"

namespace tangram {

struct PlanRequest {
  Shared<Cluster> cluster;  // A copy of 90,000 nodes takes 50 MB.
  ModelSpec model;
  TrainingOptions training;
  // 0: tries every useful size.
  int pipeline_microbatch_size = 0;
  PlanConstraints constraints;
  // A better precision than that of `training`, such as the type of the
  // model's weights, for which some GPUs may have no units. A plan on the
  // others alone, in this precision, is also one for the request. Empty: none.
  std::optional<Precision> preferred_precision;
};

// The phases of planning, for progress and timing.
enum class PlanPhase {
  kIslands,      // Divides the cluster into islands.
  kProfiling,    // Slices the model and queries performance profiles.
  kEnumeration,  // Enumerates and prunes pairs.
  kSlicePlans,   // Queries slice plans of the remaining pairs.
  kComposition,  // Composes slice plans into pipelines.
  kEvaluation,   // Evaluates whole plans.
};

// Receives the progress of planning. Must not slow it down. Calls come from the
// planning thread, OnPairs from any thread, one at a time.
class PlanObserver {
 public:
  virtual ~PlanObserver() = default;
  // `phase` begins and the previous one has ended. Phases repeat.
  virtual void OnPhase(PlanPhase phase) = 0;
  virtual void OnPairs(int done, int total) = 0;
  virtual void OnBest(double iteration_time_s) = 0;
  // Polled; true makes Plan return kCancelled soon.
  virtual bool ShouldStop() = 0;
};

// Counts of planning steps, over all microbatch sizes. The ablation of the
// paper's §6.4 uses them.
struct PlanningStats {
  int64_t pairs = 0;  // Slices × islands × microbatch sizes.
  int64_t pruned_redundant = 0;
  int64_t pruned_imbalanced = 0;
  int64_t pruned_incompatible = 0;  // These fit no position in any pipeline.
  int64_t pruned_infeasible = 0;    // By minimum memory, before a query.
  int64_t queries = 0;              // Parallelize calls, repeats included.
  int64_t requeries = 0;  // Queries repeated for more trailing stages.
  int64_t infeasible_answers = 0;
  int64_t slice_plans = 0;         // Received.
  int64_t incompatible_plans = 0;  // Received, but fit no pipeline position.
  int64_t search_steps = 0;        // Σ over answers.
  int64_t compositions = 0;        // Dynamic programs run.
  int64_t finalists = 0;           // Whole plans scored by the evaluator.
  bool truncated = false;          // At least one answer was cut short.
};

// An island that the plan does not use, and why.
struct UnusedIsland {
  int island = 0;
  std::string reason;
  // Iteration time of the best plan found that uses it. Empty if none.
  std::optional<double> best_with_it_s;
};

// One combination of parallelizers that was tried. Only with several
// parallelizers.
struct PlanAlternative {
  std::vector<std::string> parallelizers;  // Empty: nothing was searched.
  // The runtime whose techniques limit a mix of several parallelizers' slice
  // plans. Empty for a single parallelizer.
  std::string runtime;
  std::optional<double> iteration_time_s;
  std::string reason;  // Why there is no plan.

  bool was_searched() const { return !parallelizers.empty(); }
};

// A pipeline that fits and was not chosen.
struct RunnerUp {
  std::vector<int> islands;  // Islands that it uses, ascending.
  int num_stages = 0;
  int pipeline_microbatch_size = 0;
  double iteration_time_s = 0;
  bool operator==(const RunnerUp&) const = default;
};

// Lower bounds in seconds on simulated iteration times beyond the slice plans
// that were answered (PlanResult::lower_bound_s), of wider and wider scopes. 0:
// none is proven.
struct Certificate {
  // Every 1F1B pipeline of plans that the parallelizers asked could return, at
  // the microbatch sizes and on the islands that were tried. A polished plan
  // need not be one, so it may be faster.
  double asked_s = 0;
  // Every plan at all on these GPUs, with these training options.
  double any_plan_s = 0;

  bool operator==(const Certificate&) const = default;
};

struct PlanResult {
  std::vector<Island> islands;
  // The training options that were planned for, if the requested runtime trains
  // differently from the request.
  std::optional<TrainingOptions> training;
  // Empty: no plan fits, and `infeasible` says why.
  std::optional<PipelinePlan> plan;
  // Several pipelines, in place of `plan` and its evaluation.
  std::optional<ReplicatedPlan> replicated_plan;
  ReplicatedEvaluation replicated_evaluation;
  std::optional<Infeasible> infeasible;
  // Without a plan: the limits of the search that may hide one, each with the
  // option that lifts it. Empty: it is proved that no plan fits. The answer to
  // a request has them in the reason of `infeasible`, so files do not hold
  // them.
  std::vector<std::string> limits;
  Evaluation evaluation;  // The evaluation of `plan`.
  std::vector<UnusedIsland> unused_islands;
  // The next-best pipelines that the evaluator scored, fastest first.
  std::vector<RunnerUp> runners_up;
  // A lower bound on the simulated iteration time of every composition of the
  // queried slice plans, so at most that of `plan`. It does not cover slice
  // plans that pruning excluded from queries, nor plans that are no such
  // composition. 0: no bound was proven.
  double lower_bound_s = 0;
  // Empty without a plan, and in files from before there was one.
  std::optional<Certificate> certificate;
  // How far the prediction may be off. Empty without a plan, and in files from
  // before there were bands.
  std::optional<PredictionBand> band;
  // The planner's own estimate of the iteration time of `plan`, by which it
  // ranked the plan; see Proposal::predicted_s. 0: none.
  double closed_form_s = 0;
  // Empty with one parallelizer. The figures above are those of the best
  // alternative.
  std::vector<PlanAlternative> alternatives;
  PlanningStats stats;             // Summed over all alternatives.
  std::vector<std::string> notes;  // For display; deterministic.

  // Whether there is a plan, of one pipeline or of several.
  bool has_plan() const {
    return plan.has_value() || replicated_plan.has_value();
  }
  // The time of that plan, in seconds.
  double iteration_time_s() const {
    return replicated_plan.has_value() ? replicated_evaluation.iteration_time_s
                                       : evaluation.iteration_time_s;
  }
};

// Plans a model on a heterogeneous cluster and returns an evaluated plan.
// Planners do not implement this interface. They propose plans (see planner.h),
// and a judge implements it with their proposals.
//
// Errors: kInvalidArgument for a bad request (naming field and value),
// kCancelled, and the errors of the source of slice plans.
class ClusterPlanner {
 public:
  virtual ~ClusterPlanner() = default;
  virtual absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                          PlanObserver& observer) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_CLUSTER_PLANNER_H_
