#ifndef TANGRAM_FORMATS_CONFIG_HF_NAMES_H_
#define TANGRAM_FORMATS_CONFIG_HF_NAMES_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/config/config_field.h"

// Fields of a HuggingFace config.json that have several names: each family of
// models chose its own.
namespace tangram {

using HfNames = absl::Span<const absl::string_view>;

// Returns how transformers names a size that the file has under the name of
// another program: "hidden_size instead of dim". Empty: there is none.
std::string NameOfOthers(const ConfigField& root);

// Returns the field under the first of `names` that the file has. "a.b" is the
// field b of the mapping a.
std::optional<ConfigField> FindAnyOf(const ConfigField& root, HfNames names);

// Returns the integer under the first of `names`, from 1 to `max`. Without any
// of them, `fallback` if it is positive, else an error that names the first. A
// file that has the size under a name of another program's is an error, too.
absl::StatusOr<int> RequireAnyInt(const ConfigField& root, HfNames names,
                                  int max, int fallback = 0);

// Returns the integer from `min` to `max`, or the flag, under the first of
// `names`, or `fallback`.
absl::StatusOr<int> ReadAnyInt(const ConfigField& root, HfNames names,
                               int fallback, int min, int max);
absl::StatusOr<bool> ReadAnyFlag(const ConfigField& root, HfNames names,
                                 bool fallback);

// Returns an error of `list` unless it has one element for each layer. Further
// ones are those of modules for multi-token prediction, or of layers that were
// cut off.
absl::Status CheckOneEach(const ConfigField& list, size_t given,
                          size_t num_layers);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_NAMES_H_
