#ifndef TANGRAM_FORMATS_CATALOGUE_MODELS_H_
#define TANGRAM_FORMATS_CATALOGUE_MODELS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/model_spec.h"

namespace tangram {

// The model of that name ("gpt3-6.7b", "mixtral-8x7b"), ignoring case.
// kNotFound listing the known names.
absl::StatusOr<ModelSpec> BuiltinModel(absl::string_view name);

// Tokens per sequence in which the model of that name is usually trained,
// ignoring the name's case.
std::optional<int> BuiltinSequenceLength(absl::string_view name);

// All names, sorted.
std::vector<std::string> BuiltinModelNames();

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CATALOGUE_MODELS_H_
