#ifndef TANGRAM_FORMATS_CONFIG_MODEL_FIELDS_H_
#define TANGRAM_FORMATS_CONFIG_MODEL_FIELDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"

namespace tangram {

// Reads a model in our own format (docs/model-file.md). `name` is used unless
// the file has one.
absl::StatusOr<ModelSpec> ReadModelFields(const ConfigField& root,
                                          const std::string& name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_MODEL_FIELDS_H_
