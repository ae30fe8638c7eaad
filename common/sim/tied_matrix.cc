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
      replicas * head.vocab_size * head.hidden_size * GradientBytes(training),
      path);
}

}  // namespace tangram
