#ifndef TANGRAM_FORMATS_CONFIG_HF_CONFIG_H_
#define TANGRAM_FORMATS_CONFIG_HF_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"

namespace tangram {

// The model of a HuggingFace config.json, as downloaded: fields that are left
// out have the defaults of their model_type. Unknown fields are ignored, and so
// are multi-token prediction modules. `name` is used unless the file has a
// _name_or_path. kUnimplemented for another model_type, listing the known ones.
absl::StatusOr<ModelSpec> ReadHfConfig(const ConfigField& file,
                                       const std::string& name);

// Whether a file is one: all have a `model_type`, ours have none.
inline bool IsHfConfig(const ConfigField& file) {
  return file.Find("model_type").has_value();
}

// Where the language model is described: the `text_config` of a multimodal
// one, or the file itself.
ConfigField HfTextConfig(const ConfigField& file);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_CONFIG_H_
