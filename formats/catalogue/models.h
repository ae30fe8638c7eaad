#ifndef TANGRAM_FORMATS_CATALOGUE_MODELS_H_
#define TANGRAM_FORMATS_CATALOGUE_MODELS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/domain/model_spec.h"

namespace tangram {

// Returns the model of that name ("gpt3-6.7b", "mixtral-8x7b"), ignoring case.
// kNotFound, listing the known names, for any other name.
absl::StatusOr<ModelSpec> BuiltinModel(absl::string_view name);

// Returns the sequence length in tokens that the model of that name is usually
// trained with, ignoring case. Empty for an unknown name.
std::optional<int> BuiltinSequenceLength(absl::string_view name);

// Returns all names, sorted.
std::vector<std::string> BuiltinModelNames();

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CATALOGUE_MODELS_H_
