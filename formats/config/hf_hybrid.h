#ifndef TANGRAM_FORMATS_CONFIG_HF_HYBRID_H_
#define TANGRAM_FORMATS_CONFIG_HF_HYBRID_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"
#include "formats/config/hf_attention.h"
#include "formats/config/hf_family.h"

// Models of a HuggingFace config.json some of whose layers mix tokens by Mamba.
namespace tangram {

// The parts of a layer.
struct HfParts {
  HfMixer mixer = HfMixer::kFull;
  bool mlp = true;       // An MLP, or experts.
  bool experts = false;  // Set by HybridRule::kPattern alone.
};

// Reads the parts of all layers by the family's rule, which is not kNone.
absl::StatusOr<std::vector<HfParts>> ReadHfParts(const ConfigField& root,
                                                 const HfFamily& family,
                                                 int num_layers);

// Reads the dimensions of the Mamba mixers. kUnimplemented if their projections
// have biases.
absl::StatusOr<MambaDimensions> ReadHfMamba(const ConfigField& root,
                                            const HfFamily& family,
                                            int hidden_size);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_HYBRID_H_
