#ifndef TANGRAM_FORMATS_CONFIG_MODEL_JSON_H_
#define TANGRAM_FORMATS_CONFIG_MODEL_JSON_H_

#include "common/domain/model_spec.h"
#include "nlohmann/json.hpp"

namespace tangram {

// The model in the form of docs/model-file.md; inside formats/config only.
nlohmann::ordered_json ModelToJson(const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_MODEL_JSON_H_
