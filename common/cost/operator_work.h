#ifndef TANGRAM_COMMON_COST_OPERATOR_WORK_H_
#define TANGRAM_COMMON_COST_OPERATOR_WORK_H_

#include "common/cost/collectives.h"
#include "common/cost/kernels.h"
#include "common/cost/operator_cost.h"

// How the cost of one operator is put together; inside common/cost only.
namespace tangram {

// By what the times and saved bytes of a layer's operators are multiplied so
// that their sum is what was measured of the layer.
struct LayerCalibration {
  double forward = 1;
  double backward = 1;
  double saved = 1;
  bool with_collectives = false;            // They are multiplied as well.
  const MeasuredLayer* measured = nullptr;  // Null: the layer was not.
};

// What the operators of one layer share, worked out once a layer.
struct LayerScope {
  const LayerSpec& layer;
  const StageParallelism& parallelism;
  const StageEnvironment& environment;
  KernelRates rates;
  double samples = 0;        // Of one replica.
  double tokens = 0;         // Of one rank: samples · sequence / cp.
  double element_bytes = 0;  // Of activations and weights.
  double tp = 1;
  double residual_tp = 1;  // Ranks that share norms and residuals: tp or 1.
  double tp_x = 1;         // Of 2-D tensor parallelism: tp = tp_x · tp_y.
  double tp_y = 1;
  CommGroup tp_group;
  CommGroup tp_x_group;
  CommGroup tp_y_group;
  CommGroup cp_group;
  CommGroup ep_group;
  LayerCalibration calibration;
};

LayerScope ScopeOf(const LayerSpec& layer, const StageParallelism& parallelism,
                   const StageEnvironment& environment);

// The parts of one operator on one GPU, for one microbatch.
struct OperatorWork {
  double forward_compute_s = 0;
  double backward_compute_s = 0;
  // Collectives that the operator waits for.
  double forward_comm_s = 0;
  double backward_comm_s = 0;
  // Collectives that run beside the operator's own compute; only what exceeds
  // it is paid.
  double forward_hidden_s = 0;
  double backward_hidden_s = 0;
  double parameters = 0;
  // Kept for the backward pass: the input, and what else.
  bool keeps_input = false;
  double kept_bytes = 0;
  double workspace_bytes = 0;
};

// Whether flash attention runs: the job wants it and the device can.
inline bool RunsFlashAttention(const StageEnvironment& environment) {
  return environment.training.flash_attention &&
         environment.device.supports_flash_attention;
}

// `compute_s` forward, twice that backward: the rule of all matrix products
// (one product for the input's gradient, one for the weights').
OperatorWork MatmulWork(double compute_s);

// Elements of a token at the input of `op`: of the whole layer, and of one GPU
// after sharding. The residual stream beside a branch is not counted.
double InputElements(const LayerSpec& layer, OpKind op);
double InputElementsOnGpu(const LayerScope& scope, OpKind op);

// Matrix elements of the Q, K and V projections, biases left out.
struct QkvShape {
  double total = 0;
  double on_gpu = 0;
};
QkvShape QkvShapeOf(const LayerScope& scope);

// Tokens that the experts of one GPU receive, per token of its own.
double RoutedLoad(const LayerScope& scope);

OperatorWork AttentionCoreWork(const LayerScope& scope);
OperatorWork QkvWork(const LayerScope& scope);
OperatorWork RouterWork(const LayerScope& scope);
OperatorWork ExpertDispatchWork(const LayerScope& scope);
OperatorWork ExpertProjectionWork(const LayerScope& scope, OpKind op);
OperatorWork ExpertCombineWork(const LayerScope& scope);
OperatorWork EmbeddingWork(const LayerScope& scope);
OperatorWork HeadWork(const LayerScope& scope);

// Bytes that the tp collectives of a dense block move: every token in full.
inline double BlockBytes(const LayerScope& scope) {
  return scope.tokens * scope.layer.hidden_size * scope.element_bytes;
}

// The products that tp splits by columns (input whole, output split) and by
// rows (the other way round), with their collectives (2104.04473 §2.3, with
// sequence parallelism 2205.05198 §4.2.2).
void AddColumnParallelComm(const LayerScope& scope, OperatorWork& work);
void AddRowParallelComm(const LayerScope& scope, OperatorWork& work);

// Likewise of the first and second product of attention or MLP, with `inner`
// elements of a token between them on tp_x ranks; these 2-D tensor parallelism
// splits in both dimensions. Without, the same as above.
void AddFirstProductComm(const LayerScope& scope, double inner,
                         OperatorWork& work);
void AddSecondProductComm(const LayerScope& scope, double inner,
                          OperatorWork& work);

// Gelu, or SiLU and product where gated, on `width` hidden elements of each of
// `tokens` tokens.
void AddActivation(const LayerScope& scope, double tokens, double width,
                   OperatorWork& work);

// By the model and measurements of single operators alone.
OperatorCost EstimateUncalibrated(const LayerScope& scope, OpKind op);

OperatorCost EstimateInScope(const LayerScope& scope, OpKind op);

LayerCalibration CalibrationOf(const LayerScope& scope);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_OPERATOR_WORK_H_
