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

// How the GPUs of one stage are wired. A stage of at most gpus_per_node GPUs
// lies in one node; a larger one takes whole nodes.
struct StageWiring {
  int gpus_per_node = 1;  // Of this stage, in each node that it uses.
  Link intra_node;
  Link inter_node;
  // Of the stage's device; override the links where they match. Refers to the
  // device.
  absl::Span<const MeasuredCollective> measured;
};

StageWiring WiringOf(const IslandSpec& island, int num_gpus);

// What all operators of one stage share. Refers to its arguments; cheap.
struct StageEnvironment {
  const DeviceSpec& device;
  const TrainingOptions& training;
  StageWiring wiring;
  int pipeline_microbatch_size = 1;
};

// One operator on one GPU of a stage, for one pipeline microbatch. Each
// replica runs pipeline_microbatch_size / dp samples.
struct OperatorCost {
  // Compute and the tp, cp and ep collectives on the critical path.
  double forward_s = 0;
  double backward_s = 0;
  // What the host needs to issue the kernels of each pass. A stage is never
  // faster than the sum of its operators'; device time above is without it.
  double forward_host_s = 0;
  double backward_host_s = 0;
  // The collectives' share of forward_s and backward_s.
  double forward_comm_s = 0;
  double backward_comm_s = 0;
  // Compute beside which the operator's own collectives leave the links idle:
  // where ZeRO's collectives of the layer can hide.
  double forward_slack_s = 0;
  double backward_slack_s = 0;
  // Parameters that one GPU holds after sharding by tp (and ep, fsep), before
  // ZeRO. Expert parameters are replicated and reduced over a smaller group.
  double dense_parameters = 0;
  double expert_parameters = 0;
  // Activation bytes that the operator keeps for its backward pass.
  double saved_bytes = 0;
  // Of these, the operator's input; the rest it makes itself.
  double saved_input_bytes = 0;
  // Bytes that one GPU must hold at the operator's input, as the checkpoint
  // when a recomputed segment begins here.
  double input_bytes = 0;
  // Bytes held only while the operator runs: logits, gathered experts.
  double workspace_bytes = 0;
  // True if the compute in `forward_s` and `backward_s` came from
  // DeviceSpec::measured, or is the operator's share of a layer in
  // DeviceSpec::measured_layers.
  bool measured = false;
};

// Formulas: Megatron-LM (2104.04473, 2205.05198) for FLOPs and activations,
// α-β collectives, roofline with the size-dependent GEMM efficiency of
// DeviceEfficiency. Thread-safe, deterministic.
OperatorCost EstimateOperator(const LayerSpec& layer, OpKind op,
                              const StageParallelism& parallelism,
                              const StageEnvironment& environment);

// All operators of a layer, in order: one by one, each would scale the whole
// layer to its measurements anew.
std::vector<OperatorCost> EstimateOperators(
    const LayerSpec& layer, const StageParallelism& parallelism,
    const StageEnvironment& environment);

// The key under which DeviceSpec::measured may override an operator: the
// layer, operator, tp, tp_y and cp degree, samples per replica, and what of the
// training options changes the kernel. Experts add the ep degree; norms and
// residuals add sequence parallelism.
Fingerprint MeasurementKey(const LayerSpec& layer, OpKind op,
                           const StageParallelism& parallelism,
                           int samples_per_replica,
                           const TrainingOptions& training);

// Bytes of one pipeline microbatch that cross the boundary before operator
// `op_index` of `layer`, in one direction, over all replicas: the residual
// stream and whatever else is live there. 0 before the embedding.
double BoundaryBytes(const LayerSpec& layer, int op_index,
                     int pipeline_microbatch_size,
                     const TrainingOptions& training);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_OPERATOR_COST_H_
