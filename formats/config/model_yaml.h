#ifndef TANGRAM_FORMATS_CONFIG_MODEL_YAML_H_
#define TANGRAM_FORMATS_CONFIG_MODEL_YAML_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"

namespace tangram {

// Returns the model file (docs/model-file.md) of `model`; reading it gives an
// equal model. kUnimplemented if its layers differ in more than such a
// file can express.
absl::StatusOr<std::string> ModelToYaml(const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_MODEL_YAML_H_
