#ifndef TANGRAM_FORMATS_CONFIG_MODEL_FILE_H_
#define TANGRAM_FORMATS_CONFIG_MODEL_FILE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/model_spec.h"

namespace tangram {

struct ModelOverrides {
  // Changes that the user makes to a model.
  std::optional<int> num_layers;  // Transformer layers; see ResizeModel.
};

// Returns the built-in model of that name, or the model that a file describes:
// a HuggingFace config.json as downloaded, or our YAML (docs/model-file.md).
// kNotFound, listing the built-in names, if it is neither. kInvalidArgument
// names file, field, value and what was expected. kUnimplemented for an unknown
// architecture.
absl::StatusOr<ModelSpec> LoadModel(const std::string& name_or_path,
                                    const ModelOverrides& overrides);

// A model with what its file says besides.
struct LoadedModel {
  ModelSpec model;
  // Tokens of a sequence if nobody says otherwise: those that a built-in model
  // is usually trained with, those of the first training that a config.json
  // tells.
  std::optional<int> sequence_length;
};

// LoadModel with the rest.
absl::StatusOr<LoadedModel> LoadModelAndUsualLength(
    const std::string& name_or_path, const ModelOverrides& overrides);

// Parses the model that `text` describes. `source_name` stands for the file in
// errors. It also names the model if the text does not.
absl::StatusOr<ModelSpec> ParseModel(absl::string_view text,
                                     absl::string_view source_name);

// Returns the name of a model whose file does not say one. A download is called
// config.json, and its folder has the model's name.
std::string ModelNameOfFile(absl::string_view source_name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_MODEL_FILE_H_
