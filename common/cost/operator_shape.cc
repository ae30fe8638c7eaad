#include <algorithm>

#include "common/cost/operator_work.h"

namespace tangram {
namespace {

// Load of the busiest rank divided by the mean, if routing decides where tokens
// go. An assumption: LAER-MoE measured iterations 1.3 to 1.5 times as long
// under plain expert parallelism as with balanced experts, without an auxiliary
// loss. Training with one is more balanced.
constexpr double kUnevenExpertLoad = 1.25;

double KeyValueHeads(const LayerSpec& layer) {
  return layer.kv_lora_rank > 0 ? layer.num_heads : layer.num_kv_heads;
}

double MlpMatrices(const LayerSpec& layer) { return layer.gated_mlp ? 2 : 1; }

// Returns the elements of a token's Q, K and V, if q_tp ranks share the query
// heads and kv_tp ranks the key and value heads.
double QkvElements(const LayerSpec& layer, double q_tp, double kv_tp) {
  return 1.0 * layer.num_heads * layer.head_dim / q_tp +
         KeyValueHeads(layer) * (layer.head_dim + layer.value_head_dim) / kv_tp;
}

// Returns the number of ranks that share key and value heads. If ranks
// outnumber these heads, several ranks hold the same one.
double KeyValueTp(const LayerScope& scope, double tp) {
  return std::min(tp, std::max(1.0, KeyValueHeads(scope.layer)));
}

}  // namespace

double InputElements(const LayerSpec& layer, OpKind op) {
  const double h = layer.hidden_size;
  const double k = layer.experts_per_token;
  const double width = layer.expert_width();
  switch (op) {
    case OpKind::kEmbedding:
      return 0;
    case OpKind::kAttentionNorm:
    case OpKind::kQkvProjection:
    case OpKind::kAttentionResidual:
    case OpKind::kMlpNorm:
    case OpKind::kMlpUp:
    case OpKind::kRouter:
    case OpKind::kMlpResidual:
    case OpKind::kFinalNorm:
    case OpKind::kHead:
    case OpKind::kMambaNorm:
    case OpKind::kMambaInProjection:
    case OpKind::kMambaResidual:
      return h;
    case OpKind::kAttentionCore:
      return QkvElements(layer, 1, 1);
    case OpKind::kOutputProjection:
      return 1.0 * layer.num_heads * layer.value_head_dim;
    case OpKind::kMlpActivation:
      return MlpMatrices(layer) * layer.ffn_hidden_size;
    case OpKind::kMlpDown:
      return layer.ffn_hidden_size;
    case OpKind::kExpertDispatch:
      return width;
    case OpKind::kExpertUp:
    case OpKind::kExpertCombine:
      return k * width;
    case OpKind::kExpertActivation:
      return k * MlpMatrices(layer) * layer.expert_ffn_hidden_size;
    case OpKind::kExpertDown:
      return k * layer.expert_ffn_hidden_size;
    case OpKind::kMambaConvolution:
    case OpKind::kMambaStepProjection:
    case OpKind::kMambaScan:
    case OpKind::kMambaInnerNorm:
    case OpKind::kMambaOutProjection:
      return MambaInputElements(ElementsOf(layer.mixer, layer.mamba),
                                layer.mixer, op);
  }
  return 0;
}

double InputElementsOnGpu(const LayerScope& scope, OpKind op) {
  switch (op) {
    case OpKind::kAttentionCore:
      return QkvElements(scope.layer, scope.tp, KeyValueTp(scope, scope.tp));
    case OpKind::kOutputProjection:
    case OpKind::kMlpActivation:
    case OpKind::kMlpDown:
      return InputElements(scope.layer, op) / scope.tp;
    case OpKind::kExpertUp:
    case OpKind::kExpertActivation:
    case OpKind::kExpertDown: {
      const double on_token = InputElements(scope.layer, op) /
                              std::max(1, scope.layer.experts_per_token);
      const double tp = op == OpKind::kExpertUp ? 1 : scope.tp;
      return RoutedLoad(scope) * on_token / tp;
    }
    case OpKind::kMambaConvolution:
    case OpKind::kMambaStepProjection:
    case OpKind::kMambaScan:
    case OpKind::kMambaInnerNorm:
    case OpKind::kMambaOutProjection:
      return MambaInputElements(MambaElementsOnGpu(scope), scope.layer.mixer,
                                op);
    default:
      return InputElements(scope.layer, op) / scope.residual_tp;
  }
}

QkvShape QkvShapeOf(const LayerScope& scope) {
  const LayerSpec& layer = scope.layer;
  const double h = layer.hidden_size;
  if (layer.kv_lora_rank == 0) {
    return {.total = h * QkvElements(layer, 1, 1),
            .on_gpu =
                h / scope.tp_y *
                QkvElements(layer, scope.tp_x, KeyValueTp(scope, scope.tp_x))};
  }
  // Every tp rank holds the projections to the latent ranks in full.
  const double whole =
      h * (layer.q_lora_rank + layer.kv_lora_rank + layer.rope_head_dim);
  const double q_in = layer.q_lora_rank > 0 ? layer.q_lora_rank : h;
  const double split =
      layer.num_heads *
      (q_in * layer.head_dim +
       layer.kv_lora_rank *
           (1.0 * layer.head_dim - layer.rope_head_dim + layer.value_head_dim));
  return {.total = whole + split, .on_gpu = whole + split / scope.tp};
}

double RoutedLoad(const LayerScope& scope) {
  const bool uneven =
      scope.parallelism.ep_degree > 1 && !scope.parallelism.fsep;
  // With a capacity, all experts compute alike.
  const double factor = scope.layer.expert_capacity_factor > 0
                            ? scope.layer.expert_capacity_factor
                        : uneven ? kUnevenExpertLoad
                                 : 1.0;
  return scope.layer.experts_per_token * factor;
}

}  // namespace tangram
