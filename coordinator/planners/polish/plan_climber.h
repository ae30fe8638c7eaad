#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_CLIMBER_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_CLIMBER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/sim/stage_estimator.h"
#include "coordinator/planners/polish/polish_plan.h"
#include "coordinator/planners/polish/stage_tuner.h"

namespace tangram {

// Returns the least Evaluation::measured_fraction of plans that replace this
// one: its own, or a little less.
double LeastMeasured(const PolishedPlan& plan);

// Climbs from plans of one job to faster ones by small changes, each of them
// simulated: borders between stages move, stages on different islands swap
// their GPUs, and stages recompute, shard and keep on the host more or less.
// Degrees and the number of stages stay.
//
// Measured times stay measured: a plan is no faster for going where only the
// model says so.
//
// The stages are taken from the slowest to the fastest, and the first change
// that helps is kept, until none does or the effort is spent. Deterministic,
// thread-compatible. The only error is kCancelled, once the observer asks to
// stop.
class PlanClimber {
 public:
  // Stages may recompute what those of `plan` do, whole layers and attention
  // cores, as far as the rules allow. All but `plan` must outlive the climber.
  PlanClimber(const PlanRequest& request, const PipelineRules& rules,
              const PolishedPlan& plan, PlanObserver& observer);

  // How hard Settle tries.
  enum class Effort { kHasty, kFull };

  // Returns the fastest plan on the way up from `start`, which must fit and be
  // legal for the rules, as the result is. It looks up the cost of stages about
  // `most_estimates` times.
  absl::StatusOr<PolishedPlan> From(PolishedPlan start, int64_t most_estimates);

  // Lets the stages of a plan recompute, shard and keep on the host what they
  // must under its schedule. Hasty: a stage changes what it recomputes alone if
  // that suffices. Empty: the plan is not valid or does not fit, or too little
  // of it is measured.
  absl::StatusOr<std::optional<PolishedPlan>> Settle(PipelinePlan plan,
                                                     Effort effort);

  // Returns the stages whose cost was looked up so far.
  int64_t num_estimated() const { return num_played_ + tuner_.num_estimated(); }

 private:
  class Climb;

  const PlanRequest& request_;
  const PipelineRules& rules_;
  PlanObserver& observer_;
  const double least_measured_;  // Evaluation::measured_fraction.
  StageEstimator estimator_;
  StageTuner tuner_;
  int64_t num_played_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_PLAN_CLIMBER_H_
