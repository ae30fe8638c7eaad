#ifndef TANGRAM_FORMATS_CONFIG_HF_DETAILS_H_
#define TANGRAM_FORMATS_CONFIG_HF_DETAILS_H_

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"
#include "formats/config/hf_family.h"

namespace tangram {

// Reads from `root`, the part of a config.json about the language model, and
// from the whole `file` what has no effect on the costs of its layers:
// rotary positions, the epsilon of norms, dropout, the type of the weights and
// soft caps. Dropout has the rates of the family where the file leaves it out;
// other values stay empty.
absl::StatusOr<ModelDetails> ReadHfDetails(const ConfigField& root,
                                           const ConfigField& file,
                                           const HfFamily& family);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_DETAILS_H_
