#ifndef TANGRAM_FORMATS_CONFIG_HF_EXPERTS_H_
#define TANGRAM_FORMATS_CONFIG_HF_EXPERTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"
#include "formats/config/hf_family.h"

namespace tangram {

// The experts of a HuggingFace model and the layers that have them.
struct HfExperts {
  int num_experts = 0;
  int experts_per_token = 0;
  int ffn_hidden_size = 0;         // Width of each expert's MLP.
  int shared_ffn_hidden_size = 0;  // Width of the shared expert; 0: none.
  int latent_size = 0;             // Width of routed tokens; 0: the layer's.
  std::vector<bool> is_moe_layer;  // One for each layer.

  // Sets the experts of `layer`, a layer that has them.
  void AddTo(LayerSpec& layer) const;
};

// Reads the experts by the family's rule; no experts if it has none.
absl::StatusOr<HfExperts> ReadHfExperts(const ConfigField& root,
                                        const HfFamily& family, int num_layers);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_EXPERTS_H_
