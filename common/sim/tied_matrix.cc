#include "common/sim/tied_matrix.h"

#include <algorithm>

#include "common/cost/parameter_bytes.h"

namespace tangram {
namespace {

double ReplicasOf(const PlacedStage& stage) {
  const auto replicas = [](const StageParallelism& p) {
    return 1.0 * p.num_replicas();
  };
  if (stage.mixed.empty()) return replicas(stage.plan.parallelism);
  double sum = 0;
  for (const ReplicaGroup& group : stage.mixed.groups) {
    sum += replicas(group.parallelism);
  }
  return sum;
}

// Bytes of a gradient that the two stages exchange. In fp16, DeepSpeed makes
// fp32 copies for data-parallel reductions alone (fp32_allreduce); the matrix
// is exchanged before.
double ExchangedBytes(const TrainingOptions& training) {
  const bool copies =
      training.gradient_copy && training.precision == Precision::kFp16;
  return copies ? ElementBytes(training.precision) : GradientBytes(training);
}

}  // namespace

bool HasTiedMatrix(const ModelSpec& model) {
  const LayerSpec& head = model.layers.back();
  return head.kind == LayerKind::kHead && head.tied_embeddings;
}

bool SplitsTiedMatrix(const ModelSpec& model, const PipelinePlan& plan) {
  return HasTiedMatrix(model) && plan.num_devices() > 1;
}

double TiedMatrixSeconds(const ModelSpec& model,
                         const TrainingOptions& training,
                         const PipelinePlan& plan, const TransferPath& path) {
  if (!SplitsTiedMatrix(model, plan)) return 0;
  return TiedMatrixSeconds(
      model, training,
      std::max(ReplicasOf(plan.stages.front()), ReplicasOf(plan.stages.back())),
      path);
}

double TiedMatrixSeconds(const ModelSpec& model,
                         const TrainingOptions& training, double replicas,
                         const TransferPath& path) {
  const LayerSpec& head = model.layers.back();
  return TransferSeconds(
      replicas * head.vocab_size * head.hidden_size * ExchangedBytes(training),
      path);
}

}  // namespace tangram
