#ifndef TANGRAM_FORMATS_CONFIG_HF_LINEAR_ATTENTION_H_
#define TANGRAM_FORMATS_CONFIG_HF_LINEAR_ATTENTION_H_

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"

namespace tangram {

// Gated DeltaNet (2412.06464), as Qwen3-Next has it: n_k heads of queries and
// keys with d_k features, n_v heads of values and gates with d_v features, and
// a short convolution over queries, keys and values.
struct HfLinearAttention {
  int key_heads = 0;
  int key_head_dim = 0;
  int value_heads = 0;
  int value_head_dim = 0;
  int kernel = 0;  // Tokens of the convolution.
};

absl::StatusOr<HfLinearAttention> ReadHfLinearAttention(
    const ConfigField& root);

// Sets the attention of `layer` to one with as many weights and activations
// and as much work. Layers have no linear attention of their own. The stand-in
// has heads of values as they are, heads of queries and keys so wide that
// queries, keys and values have the 2 n_k d_k + 2 n_v d_v features of queries,
// keys, values and gates, and a window so wide that its two products are the
// work of a token. An error of `root` if no number of heads does.
absl::Status SetStandIn(const ConfigField& root, const HfLinearAttention& of,
                        LayerSpec& layer);

// Returns the parameters that the stand-in lacks: projections to two gates for
// each head, their biases and decay rates, the convolution and a norm.
double ParametersBesideStandIn(const HfLinearAttention& of, int hidden_size);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_LINEAR_ATTENTION_H_
