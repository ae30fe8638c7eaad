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
  int ffn_hidden_size = 0;
  int shared_ffn_hidden_size = 0;
  std::vector<bool> is_moe_layer;  // One for each layer.

  void AddTo(LayerSpec& layer) const;
};

absl::StatusOr<HfExperts> ReadHfExperts(const ConfigField& root,
                                        const HfFamily& family, int num_layers);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_EXPERTS_H_
