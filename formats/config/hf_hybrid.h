#ifndef TANGRAM_FORMATS_CONFIG_HF_HYBRID_H_
#define TANGRAM_FORMATS_CONFIG_HF_HYBRID_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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

  bool operator==(const HfParts&) const = default;
};

// A field, and what transformers takes without it.
struct UsualInt {
  absl::string_view name;
  int usual = 0;
};

// Marks the layers i with i % period == offset, as Jamba says which layers have
// attention, and which experts. The offset must be less than the period.
absl::Status MarkPeriodicLayers(const ConfigField& root,
                                const UsualInt& period_field,
                                const UsualInt& offset_field,
                                std::vector<bool>& marks);

// Returns the number of layers that the list of types or the pattern tells: a
// file may leave num_hidden_layers to them. 0: there is none.
absl::StatusOr<int> CountHybridLayers(const ConfigField& root);

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
