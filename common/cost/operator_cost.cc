#include "common/cost/operator_cost.h"

#include <algorithm>

#include "common/cost/operator_work.h"

namespace tangram {
namespace {

// Norms read and write their input once. The backward pass also reads the
// incoming gradient and, for the scale's gradient, both inputs again. The tp_y
// ranks that share a token's elements add up two fp32 sums for each token.
OperatorWork NormWork(const LayerScope& scope, OpKind op) {
  const double bytes = BlockBytes(scope) / scope.residual_tp;
  constexpr double kSumBytes = 2 * 4;  // Two fp32 sums.
  const double sums_s =
      AllReduceSeconds(kSumBytes * scope.tokens / scope.tp_x, scope.tp_y_group,
                       scope.environment.wiring);
  return {.forward_compute_s = PassSeconds(2 * bytes, scope.rates),
          .backward_compute_s = PassSeconds(5 * bytes, scope.rates),
          .forward_comm_s = sums_s,
          .backward_comm_s = sums_s,
          .parameters = ParameterCount(scope.layer, op),
          .keeps_input = true};
}

// Dropout and addition: two inputs, one output and a one-byte mask, which alone
// is kept. In the backward pass the sum's gradient passes through, which is no
// work without dropout.
OperatorWork ResidualWork(const LayerScope& scope) {
  const double elements =
      scope.tokens * scope.layer.hidden_size / scope.residual_tp;
  const double bytes = elements * scope.element_bytes;
  if (!scope.environment.training.dropout) {
    return {.forward_compute_s = PassSeconds(3 * bytes, scope.rates)};
  }
  const double mask_bytes = elements;
  return {
      .forward_compute_s = PassSeconds(3 * bytes + mask_bytes, scope.rates),
      .backward_compute_s = PassSeconds(2 * bytes + mask_bytes, scope.rates),
      .kept_bytes = mask_bytes};
}

// Experts process the tokens routed to them instead of the GPU's own.
OperatorWork ActivationWork(const LayerScope& scope, OpKind op) {
  const bool expert = op == OpKind::kExpertActivation;
  const double ffn =
      expert ? scope.layer.expert_ffn_hidden_size : scope.layer.ffn_hidden_size;
  const double tokens = scope.tokens * (expert ? RoutedLoad(scope) : 1.0);
  OperatorWork work = {.keeps_input = true};
  AddActivation(scope, tokens, ffn / scope.tp, work);
  return work;
}

// MLP up is the first of the pair of products that 2-D tensor parallelism
// splits; MLP down and the output projection are the second.
OperatorWork DenseProjectionWork(const LayerScope& scope, OpKind op) {
  const double h = scope.layer.hidden_size / scope.tp_y;
  if (op == OpKind::kMlpUp) {
    const double out =
        InputElementsOnGpu(scope, OpKind::kMlpActivation) * scope.tp_y;
    OperatorWork work = ProjectionWork(scope, op, h, out);
    AddFirstProductComm(scope, out, work);
    return work;
  }
  const double in = InputElementsOnGpu(scope, op) * scope.tp_y;
  OperatorWork work = ProjectionWork(scope, op, in, h);
  AddSecondProductComm(scope, in, work);
  return work;
}

OperatorWork WorkOf(const LayerScope& scope, OpKind op) {
  switch (op) {
    case OpKind::kEmbedding:
      return EmbeddingWork(scope);
    case OpKind::kAttentionNorm:
    case OpKind::kMlpNorm:
    case OpKind::kFinalNorm:
    case OpKind::kMambaNorm:
      return NormWork(scope, op);
    case OpKind::kQkvProjection:
      return QkvWork(scope);
    case OpKind::kAttentionCore:
      return AttentionCoreWork(scope);
    case OpKind::kOutputProjection:
    case OpKind::kMlpUp:
    case OpKind::kMlpDown:
      return DenseProjectionWork(scope, op);
    case OpKind::kAttentionResidual:
    case OpKind::kMlpResidual:
    case OpKind::kMambaResidual:
      return ResidualWork(scope);
    case OpKind::kMlpActivation:
    case OpKind::kExpertActivation:
      return ActivationWork(scope, op);
    case OpKind::kRouter:
      return RouterWork(scope);
    case OpKind::kExpertDispatch:
      return ExpertDispatchWork(scope);
    case OpKind::kExpertUp:
    case OpKind::kExpertDown:
      return ExpertProjectionWork(scope, op);
    case OpKind::kExpertCombine:
      return ExpertCombineWork(scope);
    case OpKind::kHead:
      return HeadWork(scope);
    case OpKind::kMambaInProjection:
    case OpKind::kMambaConvolution:
    case OpKind::kMambaStepProjection:
    case OpKind::kMambaScan:
    case OpKind::kMambaInnerNorm:
    case OpKind::kMambaOutProjection:
      return MambaWork(scope, op);
  }
  return {};
}

// Returns whether `op` is a matrix product of a mixer, MLP or experts.
bool IsProjection(OpKind op) {
  switch (op) {
    case OpKind::kQkvProjection:
    case OpKind::kOutputProjection:
    case OpKind::kMlpUp:
    case OpKind::kMlpDown:
    case OpKind::kExpertUp:
    case OpKind::kExpertDown:
    case OpKind::kMambaInProjection:
    case OpKind::kMambaOutProjection:
      return true;
    default:
      return false;
  }
}

// Returns the number of kernels that an eager runtime issues for one pass, with
// those for biases, casts and copies between layouts.
double KernelCount(const LayerScope& scope, OpKind op) {
  // Routing, sorting and counting take many small kernels, and grouped products
  // are issued one by one: a cast, a product and its bookkeeping for each
  // expert. Set on Megatron Bridge's runs on Blackwell before 26.06.
  constexpr double kMoeKernels = 16;
  // Looking up words and positions, and the masks of vocabulary shares.
  constexpr double kEmbeddingKernels = 8;
  // Megatron-LM's loss is some twenty element-wise kernels beside the product.
  const double head_kernels = scope.environment.training.fused_loss ? 8 : 24;
  constexpr double kKernelsPerExpert = 3;
  constexpr double kProjectionKernels = 4;
  const double latent_kernels =
      scope.layer.expert_latent_size > 0 ? kProjectionKernels : 0;
  // Mamba-2's scan is a kernel each for decay, chunk states, their recurrence,
  // scores and outputs, with transposes around them. Mamba's is one kernel.
  const double scan_kernels = scope.layer.mixer == MixerKind::kMamba2 ? 8 : 3;
  constexpr double kStepKernels = 12;  // Two products, norms and a softplus.
  switch (op) {
    case OpKind::kAttentionCore:
      return RunsFlashAttention(scope.environment) ? 3 : 8;
    case OpKind::kEmbedding:
      return kEmbeddingKernels;
    case OpKind::kHead:
      return head_kernels;
    case OpKind::kMambaScan:
      return scan_kernels;
    case OpKind::kMambaStepProjection:
      return kStepKernels;
    case OpKind::kExpertDispatch:
      return kMoeKernels;
    case OpKind::kRouter:
    case OpKind::kExpertCombine:
      return kMoeKernels + latent_kernels;
    case OpKind::kExpertUp:
    case OpKind::kExpertDown:
      return 4 + kKernelsPerExpert * ExpertsOnGpu(scope);
    default:
      return IsProjection(op) ? kProjectionKernels : 2;
  }
}

// Returns the host's time to issue the kernels of one pass. With many ranks,
// each collective of tp waits for the slowest of their hosts. vTrain's runs on
// one node, which the host bounds, take 1.1 to 1.5 times as long at tp 8 as at
// tp 1, 2 and 4.
double HostSeconds(const LayerScope& scope, OpKind op) {
  constexpr double kWideTp = 8;
  constexpr double kSlowestHost = 1.2;
  const double own_s = scope.rates.host_launch_s * KernelCount(scope, op);
  return scope.tp >= kWideTp ? kSlowestHost * own_s : own_s;
}

// Returns the kept fraction of a product's input. fp8 products keep the 8 bits
// that they read.
double KeptShare(const LayerScope& scope, OpKind op) {
  const bool fp8 = scope.environment.training.precision == Precision::kFp8;
  return fp8 && IsProjection(op) ? 1 / scope.element_bytes : 1;
}

// Measurements of single operators are sorted by key.
const MeasuredOperator* FindMeasured(const LayerScope& scope, OpKind op) {
  const auto& measured = scope.environment.device.measured;
  if (measured.empty()) return nullptr;
  TrainingOptions training = scope.environment.training;
  training.flash_attention = RunsFlashAttention(scope.environment);
  const Fingerprint key =
      MeasurementKey(scope.layer, op, scope.parallelism,
                     static_cast<int>(scope.samples), training);
  const auto it = std::lower_bound(measured.begin(), measured.end(), key,
                                   [](const MeasuredOperator& entry,
                                      Fingerprint k) { return entry.key < k; });
  return it != measured.end() && it->key == key ? &*it : nullptr;
}

// Multiplies compute, and measured collectives, so that the layer's sum equals
// its measurement.
void Calibrate(const LayerCalibration& calibration, OperatorCost& cost) {
  const double forward_compute_s =
      calibration.forward * (cost.forward_s - cost.forward_comm_s);
  const double backward_compute_s =
      calibration.backward * (cost.backward_s - cost.backward_comm_s);
  if (calibration.with_collectives) {
    cost.forward_comm_s *= calibration.forward;
    cost.backward_comm_s *= calibration.backward;
  }
  cost.forward_s = forward_compute_s + cost.forward_comm_s;
  cost.backward_s = backward_compute_s + cost.backward_comm_s;
  cost.forward_slack_s *= calibration.forward;
  cost.backward_slack_s *= calibration.backward;
  cost.saved_bytes *= calibration.saved;
  cost.saved_input_bytes *= calibration.saved;
  cost.measured = true;
}

}  // namespace

// Rank order of a stage: tp innermost, then cp and dp. ep groups are made of
// consecutive replicas.
LayerScope ScopeOf(const LayerSpec& layer, const StageParallelism& parallelism,
                   const StageEnvironment& environment) {
  const StageParallelism& p = parallelism;
  const TrainingOptions& training = environment.training;
  const double samples =
      1.0 * environment.pipeline_microbatch_size / p.dp_degree;
  LayerScope scope = {
      .layer = layer,
      .parallelism = parallelism,
      .environment = environment,
      .rates = RatesOf(environment.device, training.precision),
      .samples = samples,
      .tokens = samples * training.sequence_length / p.cp_degree,
      .element_bytes = ElementBytes(training.precision),
      .tp = 1.0 * p.tp_degree,
      .residual_tp =
          p.sequence_parallel || p.tp_y_degree > 1 ? 1.0 * p.tp_degree : 1.0,
      .tp_x = 1.0 * p.tp_x_degree(),
      .tp_y = 1.0 * p.tp_y_degree,
      .tp_group = GroupOf(p.tp_degree, 1, environment.wiring),
      .tp_x_group = GroupOf(p.tp_x_degree(), 1, environment.wiring),
      .tp_y_group = GroupOf(p.tp_y_degree, p.tp_x_degree(), environment.wiring),
      .cp_group = GroupOf(p.cp_degree, p.tp_degree, environment.wiring),
      .ep_group = GroupOf(p.ep_degree, p.tp_degree, environment.wiring)};
  if (!environment.device.measured_layers.empty()) {
    scope.calibration = CalibrationOf(scope);
  }
  return scope;
}

OperatorWork MatmulWork(double compute_s) {
  return {.forward_compute_s = compute_s, .backward_compute_s = 2 * compute_s};
}

OperatorWork ProjectionWork(const LayerScope& scope, OpKind op, double in,
                            double out) {
  OperatorWork work =
      MatmulWork(GemmSeconds({.m = scope.tokens, .k = in, .n = out},
                             scope.element_bytes, scope.rates));
  work.parameters = ParameterCount(scope.layer, op) / scope.tp;
  work.keeps_input = true;
  AddCasts(scope, scope.tokens * in, scope.tokens * out, work);
  return work;
}

void AddCasts(const LayerScope& scope, double in, double out,
              OperatorWork& work) {
  const PeakFlops& peak = scope.environment.device.peak_flops;
  if (scope.environment.training.precision != Precision::kFp8 ||
      MatmulUnits(peak, Precision::kFp8) != Precision::kFp8) {
    return;
  }
  constexpr double kFp8Bytes = 1;
  const double bytes = scope.element_bytes + kFp8Bytes;
  work.forward_compute_s += PassSeconds(bytes * in, scope.rates);
  work.backward_compute_s += PassSeconds(bytes * out, scope.rates);
}

void AddActivation(const LayerScope& scope, double tokens, double width,
                   OperatorWork& work) {
  const double inputs = scope.layer.gated_mlp ? 2 : 1;
  const double bytes = scope.element_bytes * tokens * width;
  work.forward_compute_s += PassSeconds((inputs + 1) * bytes, scope.rates);
  work.backward_compute_s += PassSeconds((2 * inputs + 1) * bytes, scope.rates);
}

// Collectives beside compute are exposed as far as they exceed it; the compute
// left over is slack for ZeRO's collectives.
OperatorCost EstimateUncalibrated(const LayerScope& scope, OpKind op) {
  OperatorWork work = WorkOf(scope, op);
  OperatorCost cost;
  if (const MeasuredOperator* measured = FindMeasured(scope, op)) {
    work.forward_compute_s = measured->forward_s;
    work.backward_compute_s = measured->backward_s;
    cost.measured = true;
  } else {
    cost.forward_host_s = HostSeconds(scope, op);
    cost.backward_host_s = cost.forward_host_s;
  }
  const double forward_excess_s =
      work.forward_hidden_s - work.forward_compute_s;
  const double backward_excess_s =
      work.backward_hidden_s - work.backward_compute_s;
  cost.forward_comm_s = work.forward_comm_s + std::max(0.0, forward_excess_s);
  cost.backward_comm_s =
      work.backward_comm_s + std::max(0.0, backward_excess_s);
  cost.forward_slack_s = std::max(0.0, -forward_excess_s);
  cost.backward_slack_s = std::max(0.0, -backward_excess_s);
  cost.forward_s = work.forward_compute_s + cost.forward_comm_s;
  cost.backward_s = work.backward_compute_s + cost.backward_comm_s;
  (IsExpertOp(op) ? cost.expert_parameters : cost.dense_parameters) =
      work.parameters;
  cost.copied_parameters = work.copied_parameters;
  cost.input_bytes =
      InputElementsOnGpu(scope, op) * scope.tokens * scope.element_bytes;
  cost.saved_bytes = work.kept_bytes;
  if (work.keeps_input) {
    cost.saved_input_bytes = cost.input_bytes * KeptShare(scope, op);
    cost.saved_bytes += cost.saved_input_bytes;
  }
  cost.workspace_bytes = work.workspace_bytes;
  return cost;
}

OperatorCost EstimateInScope(const LayerScope& scope, OpKind op) {
  OperatorCost cost = EstimateUncalibrated(scope, op);
  if (scope.calibration.measured != nullptr) {
    Calibrate(scope.calibration, cost);
  }
  return cost;
}

OperatorCost EstimateOperator(const LayerSpec& layer, OpKind op,
                              const StageParallelism& parallelism,
                              const StageEnvironment& environment) {
  return EstimateInScope(ScopeOf(layer, parallelism, environment), op);
}

std::vector<OperatorCost> EstimateOperators(
    const LayerSpec& layer, const StageParallelism& parallelism,
    const StageEnvironment& environment) {
  const LayerScope scope = ScopeOf(layer, parallelism, environment);
  std::vector<OperatorCost> costs;
  for (const OpKind op : OperatorsOf(layer)) {
    costs.push_back(EstimateInScope(scope, op));
  }
  return costs;
}

}  // namespace tangram
