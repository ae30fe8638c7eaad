#ifndef TANGRAM_FORMATS_CONFIG_HF_ATTENTION_H_
#define TANGRAM_FORMATS_CONFIG_HF_ATTENTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"
#include "formats/config/hf_family.h"

namespace tangram {

// Ways in which a layer mixes tokens.
enum class HfMixer {
  kFull,     // Attention to all earlier tokens.
  kSliding,  // To those in a window.
  kChunked,  // To those in the same chunk (Llama 4).
  kLinear,   // Gated linear attention (Qwen3-Next); see hf_linear_attention.h.
  kMamba,    // See hf_hybrid.h.
  kNone,     // The layer is an MLP, or experts, alone (Nemotron-H).
};

// Whether such a layer has attention with a softmax.
inline bool HasSoftmax(HfMixer mixer) {
  return mixer == HfMixer::kFull || mixer == HfMixer::kSliding ||
         mixer == HfMixer::kChunked;
}

struct HfAttention {
  std::vector<HfMixer> mixers;    // One for each layer.
  std::vector<LayerSpec> layers;  // Their hidden size, mixer and window.
};

// Reads the mixers of all layers, and which have no MLP: by the file's
// layer_types or pattern, or else by the family's rule. Biases and norms are
// left out.
absl::StatusOr<HfAttention> ReadHfAttention(const ConfigField& root,
                                            const HfFamily& family);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_ATTENTION_H_
