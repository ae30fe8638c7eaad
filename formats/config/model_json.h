#ifndef TANGRAM_FORMATS_CONFIG_MODEL_JSON_H_
#define TANGRAM_FORMATS_CONFIG_MODEL_JSON_H_

#include "common/domain/model_spec.h"
#include "nlohmann/json.hpp"

namespace tangram {

// Returns the model in the format of docs/model-file.md. For formats/config
// only.
nlohmann::ordered_json ModelToJson(const ModelSpec& model);

// Returns the same, with most layers at the top and those that differ as
// overrides.
nlohmann::ordered_json ModelToJsonWithOverrides(const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_MODEL_JSON_H_
