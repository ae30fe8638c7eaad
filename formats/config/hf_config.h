#ifndef TANGRAM_FORMATS_CONFIG_HF_CONFIG_H_
#define TANGRAM_FORMATS_CONFIG_HF_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"
#include "formats/config/hf_unplanned.h"

namespace tangram {

// The content of a config.json.
struct HfModel {
  ModelSpec model;
  std::vector<UnplannedPart> unplanned;
  // Tokens of a sequence of the first training; empty if the file only says
  // how long one may be.
  std::optional<int> sequence_length;
};

// Reads the model of a HuggingFace config.json, as downloaded. Missing fields
// have the defaults of its family; fields that nothing here knows are ignored.
// `name` is used unless the file has a _name_or_path. kUnimplemented, with the
// nearest family, for a model whose layers nothing here describes.
absl::StatusOr<HfModel> ReadHfModel(const ConfigField& file,
                                    const std::string& name);

// Returns whether a file is a HuggingFace config.json: those have a
// `model_type` or `architectures`, those of diffusion models a `_class_name`.
// Our own format has none of them.
bool IsHfConfig(const ConfigField& file);

// Returns the error of a file that is none.
absl::Status NoHfConfigError(const ConfigField& file);

// Returns the part that describes the language model: the `text_config` of a
// multimodal model, otherwise the file itself.
ConfigField HfTextConfig(const ConfigField& file);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_CONFIG_H_
