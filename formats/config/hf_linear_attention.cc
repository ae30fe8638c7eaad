#include "formats/config/hf_linear_attention.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"

namespace tangram {
namespace {

// Tokens of a chunk, in which the kernels of flash-linear-attention compute
// attention directly.
constexpr double kChunkTokens = 64;

// Returns the multiplications of a token and head in the forward pass. In a
// chunk of C tokens, with d_k and d_v features (2412.06464 §3.3): keys with
// keys, queries with keys and the solved system with keys take 3 C d_k; with
// values, and scores with values, 2 C d_v. Reading the state for queries and
// for keys, and writing it, take 3 d_k d_v.
double Multiplications(const HfLinearAttention& of) {
  const double k = of.key_head_dim;
  const double v = of.value_head_dim;
  return kChunkTokens * (3 * k + 2 * v) + 3 * k * v;
}

}  // namespace

absl::StatusOr<HfLinearAttention> ReadHfLinearAttention(
    const ConfigField& root) {
  HfLinearAttention of;
  TANGRAM_ASSIGN_OR_RETURN(of.key_heads,
                           RequireInt(root, "linear_num_key_heads", kMaxHeads));
  TANGRAM_ASSIGN_OR_RETURN(
      of.key_head_dim, RequireInt(root, "linear_key_head_dim", kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(
      of.value_heads, RequireInt(root, "linear_num_value_heads", kMaxHeads));
  TANGRAM_ASSIGN_OR_RETURN(
      of.value_head_dim,
      RequireInt(root, "linear_value_head_dim", kMaxHeadDim));
  TANGRAM_ASSIGN_OR_RETURN(of.kernel,
                           ReadInt(root, "linear_conv_kernel_dim", 4, 1, 1024));
  return of;
}

absl::Status SetStandIn(const ConfigField& root, const HfLinearAttention& of,
                        LayerSpec& layer) {
  const int features =
      2 * (of.key_heads * of.key_head_dim + of.value_heads * of.value_head_dim);
  // As many heads of keys as possible, so that tensor parallelism splits them.
  for (int kv_heads = of.value_heads; kv_heads >= 1; --kv_heads) {
    const int rest = features - kv_heads * of.value_head_dim;
    const int heads = of.value_heads + kv_heads;
    if (of.value_heads % kv_heads != 0 || rest % heads != 0) continue;
    layer.num_heads = of.value_heads;
    layer.num_kv_heads = kv_heads;
    layer.head_dim = rest / heads;
    layer.value_head_dim = of.value_head_dim;
    layer.sliding_window = static_cast<int>(std::ceil(
        Multiplications(of) / (layer.head_dim + layer.value_head_dim)));
    return absl::OkStatus();
  }
  return root.Find("linear_num_value_heads")
      ->Error(absl::StrCat(
          "a number of heads for which attention has as many weights (",
          features, " features)"));
}

double ParametersBesideStandIn(const HfLinearAttention& of, int hidden_size) {
  const double convolved = 2.0 * of.key_heads * of.key_head_dim +
                           1.0 * of.value_heads * of.value_head_dim;
  return 2.0 * of.value_heads * (hidden_size + 1) + of.kernel * convolved +
         of.value_head_dim;
}

}  // namespace tangram
