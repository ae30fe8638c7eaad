#ifndef TANGRAM_COMMON_COST_OPERATOR_COST_H_
#define TANGRAM_COMMON_COST_OPERATOR_COST_H_

#include <vector>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/domain/device.h"
#include "common/domain/island.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// The wiring of a stage's GPUs. A stage of at most gpus_per_node GPUs is inside
// one node; a larger one takes whole nodes.
struct StageWiring {
  int gpus_per_node = 1;  // GPUs of this stage in each node that it uses.
  Link intra_node;
  Link inter_node;
  // Tables of the stage's device, which override the links where they match.
  // Refers to the device.
  absl::Span<const MeasuredCollective> measured;
};

// Returns the wiring of a stage of `num_gpus` GPUs on an island.
StageWiring WiringOf(const IslandSpec& island, int num_gpus);

// The fractions of the model state that a stage keeps, if other pipelines keep
// the rest.
struct StateShare {
  double optimizer = 1;
  double gradients = 1;
};

// The settings that all operators of a stage share. Refers to its arguments, so
// it is cheap to copy.
struct StageEnvironment {
  const DeviceSpec& device;
  const TrainingOptions& training;
  StageWiring wiring;
  int pipeline_microbatch_size = 1;
  StateShare state;
};

// The cost of one operator on one GPU of a stage, for one pipeline microbatch.
// Each replica runs pipeline_microbatch_size / dp samples.
struct OperatorCost {
  // Compute and the tp, cp and ep collectives on the critical path.
  double forward_s = 0;
  double backward_s = 0;
  // The host's time to issue the kernels of each pass. A stage is never faster
  // than the sum over its operators. Device time above does not include it.
  double forward_host_s = 0;
  double backward_host_s = 0;
  // The collectives' share of forward_s and backward_s.
  double forward_comm_s = 0;
  double backward_comm_s = 0;
  // Compute during which the operator's own collectives leave the links idle.
  // ZeRO's collectives of the layer can hide there.
  double forward_slack_s = 0;
  double backward_slack_s = 0;
  // Parameters that one GPU holds after sharding by tp (and ep, fsep), before
  // ZeRO. Expert parameters are replicated and reduced over a smaller group.
  double dense_parameters = 0;
  double expert_parameters = 0;
  // The part of dense_parameters that copies the matrix of a tied embedding. A
  // stage with the embedding has no copy.
  double copied_parameters = 0;
  // Activation bytes that the operator keeps for its backward pass.
  double saved_bytes = 0;
  // The operator's input, as a part of saved_bytes; it makes the rest itself.
  double saved_input_bytes = 0;
  // Bytes at the operator's input that a GPU must keep as the checkpoint if a
  // recomputed segment begins here.
  double input_bytes = 0;
  // Bytes held only while the operator runs: logits, gathered experts.
  double workspace_bytes = 0;
  // Whether compute comes from DeviceSpec::measured, or is the operator's share
  // of a layer in DeviceSpec::measured_layers.
  bool measured = false;
};

// Estimates one operator. FLOPs and activations follow Megatron-LM (2104.04473,
// 2205.05198), collectives the α-β model, kernels a roofline with the
// size-dependent GEMM efficiency of DeviceEfficiency. Thread-safe and
// deterministic.
OperatorCost EstimateOperator(const LayerSpec& layer, OpKind op,
                              const StageParallelism& parallelism,
                              const StageEnvironment& environment);

// Estimates all operators of a layer, in order. Faster than one by one, which
// would scale the layer to its measurements for each operator.
std::vector<OperatorCost> EstimateOperators(
    const LayerSpec& layer, const StageParallelism& parallelism,
    const StageEnvironment& environment);

// Returns the key under which DeviceSpec::measured may override an operator. It
// covers the layer, the operator, tp, tp_y and cp degree, samples per replica,
// and the training options that change the kernel. Experts add the ep degree;
// norms and residuals add sequence parallelism.
Fingerprint MeasurementKey(const LayerSpec& layer, OpKind op,
                           const StageParallelism& parallelism,
                           int samples_per_replica,
                           const TrainingOptions& training);

// Returns the bytes of one pipeline microbatch that cross the boundary before
// operator `op_index` of `layer`, in one direction, over all replicas. Counts
// the residual stream and everything else that is live there. 0 before the
// embedding.
double BoundaryBytes(const LayerSpec& layer, int op_index,
                     int pipeline_microbatch_size,
                     const TrainingOptions& training);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_OPERATOR_COST_H_
