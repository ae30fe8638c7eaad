#ifndef TANGRAM_COMMON_SIM_EVALUATE_PLAN_H_
#define TANGRAM_COMMON_SIM_EVALUATE_PLAN_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/cost/operator_cost.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// A reason not to run a plan that is otherwise valid. The only one today is
// memory, of the GPU or of its host.
struct Violation {
  int stage = 0;  // The first stage of the device.
  std::string reason;
  double bytes_short = 0;  // Per GPU.
};

// Times and memory of one stage. Bytes are per GPU. If a device runs several
// stages (PipelinePlan::virtual_stages), each of them repeats the device's
// idle_s, peak_bytes, host_bytes and capacities. Other fields are the stage's
// own share unless they name the device.
struct StageEvaluation {
  double forward_s = 0;     // One microbatch.
  double backward_s = 0;    // One microbatch, recomputation included.
  double recompute_s = 0;   // Its share of backward_s.
  double collective_s = 0;  // Share of collectives in forward_s and backward_s.
  double copy_s = 0;        // Waiting for host copies, likewise.
  double send_s = 0;        // To and from the next stage: one microbatch.
  double sync_s = 0;        // Gradient reduction, once.
  double optimizer_s = 0;   // Once.
  double busy_s = 0;        // Whole iteration, forward and backward.
  double passes_end_s = 0;  // The device's last pass, before synchronisation.
  double idle_s = 0;        // iteration − busy − sync − optimizer.
  int in_flight = 0;        // Microbatches held at the device's peak.
  // The runtime's reserve counts in a device's first stage.
  double static_bytes = 0;
  // Shares of static_bytes. The rest is the reserve.
  double weight_bytes = 0;
  double gradient_bytes = 0;
  double optimizer_bytes = 0;
  double activation_bytes = 0;  // All in flight.
  double transient_bytes = 0;
  double peak_bytes = 0;
  double capacity_bytes = 0;
  double host_bytes = 0;  // Offloaded by each GPU.
  double host_capacity_bytes = 0;
  // The groups of a mixed stage, in order; empty for a stage of equal replicas.
  // A group has its own times for each microbatch that it takes, and its own
  // memory. The fields of the stage itself are then those of
  //  - the slowest group, per microbatch of the pipeline, for times of one
  //    microbatch. A routed group that takes n of B counts n/B of its times;
  //  - the mean over GPUs, for busy_s and idle_s;
  //  - the fullest group, for in_flight and all bytes.
  std::vector<StageEvaluation> replicas;
};

struct Evaluation {
  double iteration_time_s = 0;
  double samples_per_s = 0;
  double tokens_per_s = 0;
  // Over the GPUs used. Causal attention counts in full.
  double model_flops_utilization = 0;
  double bubble_fraction = 0;    // Idle share of the used GPUs' time.
  double measured_fraction = 0;  // Share of compute time that was measured.
  std::vector<StageEvaluation> stages;
  std::vector<Violation> violations;
};

// One interval of the schedule, for drawing it.
struct TimelineEvent {
  enum class Kind {
    kForward,
    kBackward,  // Without weight gradients if these have passes of their own.
    kWeightGradient,
    kSendForward,   // Activations to the next stage.
    kSendBackward,  // Gradients to the previous stage.
    kGradientSync,
    kOptimizer,
    kReplicaSync,  // Gradients or weights, to and from other pipelines.
  };
  Kind kind = Kind::kForward;
  int stage = 0;       // The sender, for a transfer.
  int microbatch = 0;  // −1 for sync and optimizer.
  int replica = 0;     // The group of a stage that routes microbatches.
  double start_s = 0;
  double end_s = 0;
};

// Returns the violations of the first `num_devices` stages: peaks that exceed
// capacities, of GPU and host memory.
std::vector<Violation> ViolationsOf(absl::Span<const StageEvaluation> stages,
                                    int num_devices);

// Returns the summed peak FLOP/s of matrix products over the GPUs that a plan
// uses.
double PeakFlopsOf(const Cluster& cluster, const TrainingOptions& training,
                   const PipelinePlan& plan);

// Evaluates any plan; all planners are compared by it. Plays the schedule of
// `plan` event by event: warm-up, steady state, cool-down, transfers on the
// actual links between the stages' GPUs, gradient reduction, optimizer step.
// Does not depend on which planner made the plan, and reads none of the plan's
// own estimates.
//
// Returns kInvalidArgument if ValidatePlan does, and if a figure is not finite;
// kCancelled if `should_stop`, which may be empty and is polled every few
// milliseconds, returns true. A plan that does not fit in memory is evaluated
// too and has violations. `timeline`, if given, is filled with every event in
// order of stage, then start. It is left empty if it could exceed
// kMaxTimelineEvents (play_pipeline.h). Beyond kMaxPlayedMicrobatches, the run
// time does not grow with the number of microbatches. `state` is the share of
// the model state that this pipeline keeps, if it is one of several
// (ReplicatedPlan). Thread-safe, deterministic.
//
// A pass of a mixed stage in lock-step takes as long as in its slowest group. A
// stage that routes microbatches has a device for each group
// (PlayRoutedPipeline); RouteMicrobatches says which takes which.
absl::StatusOr<Evaluation> EvaluatePlan(
    const ModelSpec& model, const Cluster& cluster,
    const TrainingOptions& training, const PipelinePlan& plan,
    std::vector<TimelineEvent>* timeline = nullptr,
    const StateShare& state = {},
    const std::function<bool()>& should_stop = nullptr);

class StageEstimator;

// Likewise for a search that evaluates many plans of one job: the cost of a
// stage that was seen before is known.
absl::StatusOr<Evaluation> EvaluatePlan(
    StageEstimator& estimator, const PipelinePlan& plan,
    std::vector<TimelineEvent>* timeline = nullptr,
    const std::function<bool()>& should_stop = nullptr);

// Likewise for a search that drops most of what it tries. Empty, in a fraction
// of the time of EvaluatePlan, if the plan does not fit, or if it takes
// longer than `limit_s` by a lower bound that needs no play of the schedule.
// Other plans are evaluated, and may turn out to take longer too. No bound is
// known for plans with mixed stages.
absl::StatusOr<std::optional<Evaluation>> EvaluateWithin(
    StageEstimator& estimator, const PipelinePlan& plan, double limit_s,
    const std::function<bool()>& should_stop = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_EVALUATE_PLAN_H_
