#ifndef TANGRAM_FORMATS_CONFIG_MODEL_YAML_H_
#define TANGRAM_FORMATS_CONFIG_MODEL_YAML_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"

namespace tangram {

// The model file (docs/model-file.md) of a model, which reads back as equal.
// kUnimplemented if its layers follow no pattern that such a file can tell.
absl::StatusOr<std::string> ModelToYaml(const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_MODEL_YAML_H_
