#include "cli/validation/predict_run.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "cli/validation/runtime_habits.h"
#include "cli/validation/text_match.h"
#include "common/base/status_macros.h"
#include "common/cost/operator_cost.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {
namespace {

// Reserved exceeds allocated memory by 3 to 18 % in most Megatron-LM runs; the
// catalogue's fragmentation is the lower half. The driver's figure and the
// allocator's "reserved" include all of it.
constexpr double kCachedShare = 0.08;

// Converts a peak to the kind of memory that the row measures.
double MemoryAsCounted(const MeasuredRun& run, const DeviceSpec& device,
                       double peak_bytes) {
  const bool allocated = Mentions(run.memory_kind, "allocated");
  const bool reserved = Mentions(run.memory_kind, "reserved");
  const bool by_driver = Mentions(run.memory_kind, "nvidia-smi") ||
                         Mentions(run.memory_kind, "observed");
  if (by_driver) return peak_bytes * (1 + kCachedShare);
  if (!allocated && !reserved) return peak_bytes;
  const double in_allocator = peak_bytes - device.efficiency.reserved_bytes;
  return allocated ? in_allocator / (1 + device.efficiency.fragmentation)
                   : in_allocator * (1 + kCachedShare);
}

// Bytes of one microbatch that stage `s` sends, on one of its GPUs.
double SentBytes(const ExpressedRun& run, int s) {
  if (s + 1 == run.plan.num_stages()) return 0;
  const PlacedStage& stage = run.plan.stages[s];
  const OperatorCut cut = stage.plan.end;
  const LayerSpec& layer = run.model.layers[cut.layer];
  const StageEnvironment environment = {
      .device = run.cluster.nodes[stage.gpus.front().node].device,
      .training = run.training,
      .pipeline_microbatch_size = run.plan.pipeline_microbatch_size};
  const double samples = 1.0 * run.plan.pipeline_microbatch_size /
                         stage.plan.parallelism.dp_degree;
  const double residual_bytes = IsResidualCut(layer, cut.op)
                                    ? 0
                                    : samples * run.training.sequence_length *
                                          layer.hidden_size *
                                          ElementBytes(run.training.precision);
  return residual_bytes + EstimateOperator(layer, OperatorsOf(layer)[cut.op],
                                           stage.plan.parallelism, environment)
                              .input_bytes;
}

}  // namespace

absl::StatusOr<RunPrediction> PredictRun(const MeasuredRun& run,
                                         const ExpressedRun& expressed) {
  TANGRAM_ASSIGN_OR_RETURN(const Evaluation evaluation,
                           EvaluatePlan(expressed.model, expressed.cluster,
                                        expressed.training, expressed.plan));
  const RuntimeHabits habits = HabitsOf(run.framework);
  RunPrediction prediction{
      .iteration_s = evaluation.iteration_time_s + expressed.overhead_s,
      .fits = evaluation.violations.empty(),
      .measured_fraction = evaluation.measured_fraction};
  for (int s = 0; s < expressed.plan.num_stages(); ++s) {
    const StageEvaluation& stage = evaluation.stages[s];
    double peak_bytes = std::max(stage.peak_bytes,
                                 stage.static_bytes + expressed.step_bytes[s]) +
                        expressed.overhead_bytes[s];
    if (habits.keeps_sent_tensors) {
      peak_bytes += stage.in_flight * SentBytes(expressed, s);
    }
    if (habits.copies_received_tensors && s > 0) {
      peak_bytes += (1 + stage.in_flight) * SentBytes(expressed, s - 1);
    }
    prediction.filled =
        std::max(prediction.filled, peak_bytes / stage.capacity_bytes);
    const std::vector<int>& counted = expressed.memory_stages;
    const bool counts =
        counted.empty() ||
        std::find(counted.begin(), counted.end(), s) != counted.end();
    if (!counts) continue;
    const int node = expressed.plan.stages[s].gpus.front().node;
    prediction.memory_bytes = std::max(
        prediction.memory_bytes,
        MemoryAsCounted(run, expressed.cluster.nodes[node].device, peak_bytes));
  }
  return prediction;
}

}  // namespace tangram
