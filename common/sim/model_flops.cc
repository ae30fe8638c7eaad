#include "common/sim/model_flops.h"

#include <algorithm>

#include "common/domain/model_slice.h"

namespace tangram {
namespace {

// The backward pass computes two products for each of the forward pass: one for
// the input's gradient, one for the weight's.
constexpr double kForwardAndBackward = 3;

// Returns the weights of `op` that each token is multiplied by.
double WeightsPerToken(const LayerSpec& layer, OpKind op) {
  const MambaElements elements = ElementsOf(layer.mixer, layer.mamba);
  switch (op) {
    case OpKind::kQkvProjection:
    case OpKind::kOutputProjection:
    case OpKind::kMlpUp:
    case OpKind::kMlpDown:
    case OpKind::kRouter:
    case OpKind::kExpertCombine:  // The projection back from a latent.
    case OpKind::kHead:
      return ParameterCount(layer, op);
    case OpKind::kExpertUp:
    case OpKind::kExpertDown:
      return ParameterCount(layer, op) * layer.experts_per_token /
             layer.num_experts;
    case OpKind::kEmbedding:  // A look-up.
    case OpKind::kAttentionNorm:
    case OpKind::kAttentionCore:
    case OpKind::kAttentionResidual:
    case OpKind::kMlpNorm:
    case OpKind::kMlpActivation:
    case OpKind::kExpertDispatch:
    case OpKind::kExpertActivation:
    case OpKind::kMlpResidual:
    case OpKind::kFinalNorm:
      return 0;
    case OpKind::kMambaInProjection:
    case OpKind::kMambaOutProjection:
      return ParameterCount(layer, op);
    case OpKind::kMambaStepProjection:  // Less biases and norms.
      return elements.channels *
             (elements.time_steps + elements.matrices + layer.mamba.dt_rank);
    case OpKind::kMambaConvolution:
      return elements.convolved(layer.mixer) * layer.mamba.conv_kernel;
    case OpKind::kMambaNorm:
    case OpKind::kMambaScan:  // See ScanFlops.
    case OpKind::kMambaInnerNorm:
    case OpKind::kMambaResidual:
      return 0;
  }
  return 0;
}

// Returns the FLOPs of one token in the scan of a Mamba mixer, as Megatron-LM
// counts them (training.py, num_floating_point_operations): 7 for each number
// of the states, for both versions.
double ScanFlops(const LayerSpec& layer) {
  return 7.0 * layer.mamba.inner_size * layer.mamba.state_size;
}

// Forward FLOPs of one sample:
//   2·s·weights + 2·s·keys·heads·(head_dim + value_head_dim) + s·scan,
// with keys = s, or the window under sliding-window attention.
double ForwardFlops(const LayerSpec& layer, double tokens) {
  LayerSpec weights_only = layer;
  weights_only.linear_bias = false;
  weights_only.qkv_bias = false;
  weights_only.qk_norm = false;
  double weights = 0;
  for (const OpKind op : OperatorsOf(layer)) {
    weights += WeightsPerToken(weights_only, op);
  }
  // The norms of the two latents are counted among the QKV parameters.
  weights -= layer.q_lora_rank + layer.kv_lora_rank;
  const double keys = layer.sliding_window > 0
                          ? std::min<double>(layer.sliding_window, tokens)
                          : tokens;
  const double attention =
      tokens * keys * layer.num_heads * (layer.head_dim + layer.value_head_dim);
  return 2 * (tokens * weights + attention) + tokens * ScanFlops(layer);
}

}  // namespace

double ModelFlops(const ModelSpec& model, const TrainingOptions& training) {
  double forward_flops = 0;
  for (const LayerRun& run :
       MakeSlice({0, model.num_layers()}, model.layers).runs) {
    forward_flops +=
        run.count * ForwardFlops(run.layer, training.sequence_length);
  }
  return kForwardAndBackward * forward_flops;
}

}  // namespace tangram
