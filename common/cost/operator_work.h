#ifndef TANGRAM_COMMON_COST_OPERATOR_WORK_H_
#define TANGRAM_COMMON_COST_OPERATOR_WORK_H_

#include "common/cost/collectives.h"
#include "common/cost/kernels.h"
#include "common/cost/operator_cost.h"

// The parts of one operator's cost; inside common/cost only.
namespace tangram {

// Factors on the times and saved bytes of a layer's operators that make their
// sum equal to the layer's measurement.
struct LayerCalibration {
  double forward = 1;
  double backward = 1;
  double saved = 1;
  // Whether collectives are multiplied as well.
  bool with_collectives = false;
  // Null if the layer was not measured.
  const MeasuredLayer* measured = nullptr;
};

// Values that the operators of one layer share, computed once for a layer.
struct LayerScope {
  const LayerSpec& layer;
  const StageParallelism& parallelism;
  const StageEnvironment& environment;
  KernelRates rates;
  double samples = 0;        // Samples of one replica.
  double tokens = 0;         // Tokens of one rank: samples · sequence / cp.
  double element_bytes = 0;  // Bytes of one activation or weight.
  double tp = 1;
  double residual_tp = 1;  // Ranks that share norms and residuals: tp or 1.
  double tp_x =
      1;  // First dimension of 2-D tensor parallelism: tp = tp_x · tp_y.
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
  // Collectives that overlap the operator's own compute. Only the part that
  // exceeds it is paid.
  double forward_hidden_s = 0;
  double backward_hidden_s = 0;
  double parameters = 0;
  double copied_parameters = 0;  // See OperatorCost.
  // Whether the input is kept for the backward pass, and the bytes kept
  // besides.
  bool keeps_input = false;
  double kept_bytes = 0;
  double workspace_bytes = 0;
};

// Returns whether flash attention runs: the job asks for it and the device
// supports it.
inline bool RunsFlashAttention(const StageEnvironment& environment) {
  return environment.training.flash_attention &&
         environment.device.supports_flash_attention;
}

// Returns the work of a matrix product: `compute_s` forward and twice that
// backward, one product for the input's gradient and one for the weights'.
OperatorWork MatmulWork(double compute_s);

// Adds the casts of a product in fp8 on a device that has such units: of its
// `in` input elements in the forward pass, and of the `out` elements of its
// output's gradient in the backward pass. Each reads 16 bits and writes 8.
void AddCasts(const LayerScope& scope, double in, double out,
              OperatorWork& work);

// Return the elements of a token at the input of `op`: of the whole layer, and
// on one GPU after sharding. The residual stream beside a branch does not
// count.
double InputElements(const LayerSpec& layer, OpKind op);
double InputElementsOnGpu(const LayerScope& scope, OpKind op);

// Returns the elements of a Mamba mixer on one GPU for each token of its own.
// The scan has the whole sequence and a part of the channels instead, which is
// as many, but for groups of Mamba-2 that several cp ranks repeat.
MambaElements MambaElementsOnGpu(const LayerScope& scope);

// Returns the elements of a token at the input of an operator between the two
// projections of a Mamba mixer, or of the second. The gate waits for the scan.
double MambaInputElements(const MambaElements& elements, MixerKind kind,
                          OpKind op);

// Number of matrix elements of the Q, K and V projections, without biases.
struct QkvShape {
  double total = 0;
  double on_gpu = 0;
};
QkvShape QkvShapeOf(const LayerScope& scope);

// Returns the tokens that the experts of one GPU receive for each of its own
// tokens.
double RoutedLoad(const LayerScope& scope);

// Returns the number of experts that a GPU holds.
inline double ExpertsOnGpu(const LayerScope& scope) {
  return 1.0 * scope.layer.num_experts / scope.parallelism.ep_degree;
}

OperatorWork AttentionCoreWork(const LayerScope& scope);
OperatorWork QkvWork(const LayerScope& scope);
OperatorWork RouterWork(const LayerScope& scope);
OperatorWork ExpertDispatchWork(const LayerScope& scope);
OperatorWork ExpertProjectionWork(const LayerScope& scope, OpKind op);
OperatorWork ExpertCombineWork(const LayerScope& scope);
OperatorWork MambaWork(const LayerScope& scope, OpKind op);
OperatorWork EmbeddingWork(const LayerScope& scope);
OperatorWork HeadWork(const LayerScope& scope);

// Returns the bytes that the tp collectives of a dense block move: every token
// in full.
inline double BlockBytes(const LayerScope& scope) {
  return scope.tokens * scope.layer.hidden_size * scope.element_bytes;
}

// Add the collectives of the products that tp splits by columns (whole input,
// split output) and by rows (the reverse), as in 2104.04473 §2.3 and, with
// sequence parallelism, 2205.05198 §4.2.2.
void AddColumnParallelComm(const LayerScope& scope, OperatorWork& work);
void AddRowParallelComm(const LayerScope& scope, OperatorWork& work);

// Add the collectives of the first and the second product of attention or MLP.
// `inner` is the number of elements of a token between them on tp_x ranks. 2-D
// tensor parallelism splits these products in both dimensions. Without it,
// these functions equal the two above.
void AddFirstProductComm(const LayerScope& scope, double inner,
                         OperatorWork& work);
void AddSecondProductComm(const LayerScope& scope, double inner,
                          OperatorWork& work);

// Returns a dense product with `in` and `out` elements for each token on this
// GPU, whose weights tp splits.
OperatorWork ProjectionWork(const LayerScope& scope, OpKind op, double in,
                            double out);

// Adds Gelu, or SiLU and product for gated MLPs, on `width` hidden elements of
// each of `tokens` tokens.
void AddActivation(const LayerScope& scope, double tokens, double width,
                   OperatorWork& work);

// Estimates an operator without measurements of whole layers.
OperatorCost EstimateUncalibrated(const LayerScope& scope, OpKind op);

OperatorCost EstimateInScope(const LayerScope& scope, OpKind op);

LayerCalibration CalibrationOf(const LayerScope& scope);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_OPERATOR_WORK_H_
