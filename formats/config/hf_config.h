#ifndef TANGRAM_FORMATS_CONFIG_HF_CONFIG_H_
#define TANGRAM_FORMATS_CONFIG_HF_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"

namespace tangram {

// Reads the model of a HuggingFace config.json, as downloaded. Missing fields
// have the defaults of their model_type. Unknown fields and multi-token
// prediction modules are ignored. `name` is used unless the file has a
// _name_or_path. kUnimplemented, listing the known ones, for any other
// model_type.
absl::StatusOr<ModelSpec> ReadHfConfig(const ConfigField& file,
                                       const std::string& name);

// Returns whether a file is a HuggingFace config.json: those all have a
// `model_type`, and our own format has none.
inline bool IsHfConfig(const ConfigField& file) {
  return file.Find("model_type").has_value();
}

// Returns the part that describes the language model: the `text_config` of a
// multimodal model, otherwise the file itself.
ConfigField HfTextConfig(const ConfigField& file);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_CONFIG_H_
