#ifndef TANGRAM_FORMATS_CONFIG_HF_UNPLANNED_H_
#define TANGRAM_FORMATS_CONFIG_HF_UNPLANNED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"
#include "formats/config/hf_attention.h"
#include "formats/config/hf_family.h"

namespace tangram {

// A difference between a checkpoint and the model that a plan is made for.
struct UnplannedPart {
  std::string what;
  double parameters = 0;  // Lacking in the model; negative: in excess.
};

// Returns all differences between the config.json `file` and the `model` read
// from it, whose transformer layers mix tokens by `mixers`. The model's
// parameters plus theirs are those of the published checkpoint, less what is no
// part of the language model and less modules for multi-token prediction.
absl::StatusOr<std::vector<UnplannedPart>> HfUnplannedParts(
    const ConfigField& file, const HfFoundFamily& found,
    const std::vector<HfMixer>& mixers, const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_UNPLANNED_H_
