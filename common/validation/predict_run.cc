#include "common/validation/predict_run.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "common/base/status_macros.h"
#include "common/sim/evaluate_plan.h"
#include "common/validation/text_match.h"

namespace tangram {
namespace {

// Most reserved over allocated bytes of Megatron-LM runs lie 3 to 18 % apart;
// the catalogue's fragmentation is the lower half.
constexpr double kCachedShare = 0.08;

double MemoryAsCounted(const MeasuredRun& run, const DeviceSpec& device,
                       double peak_bytes) {
  const bool allocated = Mentions(run.memory_kind, "allocated");
  const bool reserved = Mentions(run.memory_kind, "reserved");
  // The driver also counts what the allocator keeps for later.
  const bool by_driver = Mentions(run.memory_kind, "nvidia-smi") ||
                         Mentions(run.memory_kind, "observed");
  if (by_driver) return peak_bytes * (1 + kCachedShare);
  if (!allocated && !reserved) return peak_bytes;
  const double in_allocator = peak_bytes - device.efficiency.reserved_bytes;
  return allocated ? in_allocator / (1 + device.efficiency.fragmentation)
                   : in_allocator;
}

}  // namespace

absl::StatusOr<RunPrediction> PredictRun(const MeasuredRun& run,
                                         const ExpressedRun& expressed) {
  TANGRAM_ASSIGN_OR_RETURN(const Evaluation evaluation,
                           EvaluatePlan(expressed.model, expressed.cluster,
                                        expressed.training, expressed.plan));
  RunPrediction prediction{
      .iteration_s = evaluation.iteration_time_s + expressed.overhead_s,
      .fits = evaluation.violations.empty(),
      .measured_fraction = evaluation.measured_fraction};
  for (size_t s = 0; s < evaluation.stages.size(); ++s) {
    const int node = expressed.plan.stages[s].gpus.front().node;
    prediction.memory_bytes =
        std::max(prediction.memory_bytes,
                 MemoryAsCounted(run, expressed.cluster.nodes[node].device,
                                 evaluation.stages[s].peak_bytes +
                                     expressed.overhead_bytes[s]));
  }
  return prediction;
}

}  // namespace tangram
