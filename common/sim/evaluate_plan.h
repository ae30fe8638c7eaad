#ifndef TANGRAM_COMMON_SIM_EVALUATE_PLAN_H_
#define TANGRAM_COMMON_SIM_EVALUATE_PLAN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// A plan that can be run but should not be: today, only memory, of the GPU or
// of its host.
struct Violation {
  int stage = 0;  // The first of its device.
  std::string reason;
  double bytes_short = 0;  // Per GPU.
};

// Where a device runs several stages (PipelinePlan::virtual_stages), its
// idle_s, peak_bytes, host_bytes and the capacities are in each of them; all
// else is the stage's own share.
struct StageEvaluation {
  double forward_s = 0;     // One microbatch.
  double backward_s = 0;    // One microbatch, recomputation included.
  double recompute_s = 0;   // Its share of backward_s.
  double collective_s = 0;  // Collectives' share of the two above.
  double copy_s = 0;       // Waiting for copies from and to the host, likewise.
  double send_s = 0;       // To the next stage: one microbatch, both ways.
  double sync_s = 0;       // Gradient reduction, once.
  double optimizer_s = 0;  // Once.
  double busy_s = 0;       // Whole iteration, forward and backward.
  double passes_end_s = 0;  // The device's last pass, before synchronisation.
  double idle_s = 0;        // iteration − busy − sync − optimizer.
  int in_flight = 0;        // Microbatches held at the device's peak.
  double static_bytes = 0;  // The runtime's reserve: in a device's first stage.
  // Shares of static_bytes; what is left is the reserve.
  double weight_bytes = 0;
  double gradient_bytes = 0;
  double optimizer_bytes = 0;
  double activation_bytes = 0;  // All in flight.
  double transient_bytes = 0;
  double peak_bytes = 0;
  double capacity_bytes = 0;
  double host_bytes = 0;  // Offloaded by each GPU.
  double host_capacity_bytes = 0;
};

struct Evaluation {
  double iteration_time_s = 0;
  double samples_per_s = 0;
  double tokens_per_s = 0;
  double model_flops_utilization = 0;  // Of the GPUs used; causal not halved.
  double bubble_fraction = 0;          // Idle share of the used GPUs' time.
  double measured_fraction = 0;  // Share of compute time that was measured.
  std::vector<StageEvaluation> stages;
  std::vector<Violation> violations;
};

// One interval of the schedule, for drawing.
struct TimelineEvent {
  enum class Kind {
    kForward,
    kBackward,  // Without weight gradients where these are passes of their own.
    kWeightGradient,
    kSendForward,   // Activations to the next stage.
    kSendBackward,  // Gradients to the previous stage.
    kGradientSync,
    kOptimizer,
  };
  Kind kind = Kind::kForward;
  int stage = 0;       // Of a transfer: the sender.
  int microbatch = 0;  // −1 for sync and optimizer.
  double start_s = 0;
  double end_s = 0;
};

// The violations of the first `num_devices` stages by their peaks and
// capacities.
std::vector<Violation> ViolationsOf(absl::Span<const StageEvaluation> stages,
                                    int num_devices);

// The FLOP/s of the GPUs that a plan uses, at the peak of matrix products.
double PeakFlopsOf(const Cluster& cluster, const TrainingOptions& training,
                   const PipelinePlan& plan);

// The one judge. Plays the schedule of `plan` event by event: warm-up,
// steady state, cool-down, transfers on the actual links between the stages'
// GPUs, gradient reduction, optimizer step. Knows nothing of who made the plan
// and reads none of the plan's own estimates.
//
// Returns kInvalidArgument where ValidatePlan does. A plan that does not fit in
// memory is evaluated all the same and has violations. `timeline`, if given, is
// filled with every event in order of stage, then start; it is left empty where
// it could have more than kMaxTimelineEvents (play_pipeline.h). The time that
// it takes does not grow with the number of microbatches beyond
// kMaxPlayedMicrobatches.
// Thread-safe, deterministic.
absl::StatusOr<Evaluation> EvaluatePlan(
    const ModelSpec& model, const Cluster& cluster,
    const TrainingOptions& training, const PipelinePlan& plan,
    std::vector<TimelineEvent>* timeline = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_EVALUATE_PLAN_H_
