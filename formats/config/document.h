#ifndef TANGRAM_FORMATS_CONFIG_DOCUMENT_H_
#define TANGRAM_FORMATS_CONFIG_DOCUMENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// A parsed YAML or JSON value. A scalar keeps its text; the field that reads it
// decides its type.
struct ConfigValue {
  enum class Kind { kNull, kScalar, kSequence, kMapping };
  Kind kind = Kind::kNull;
  std::string scalar;
  std::vector<std::string> keys;   // Keys of a mapping; one for each item.
  std::vector<ConfigValue> items;  // Elements, or values of the keys.
};

// Parses one YAML document; JSON is a subset. Anchors, aliases and nesting
// beyond 32 levels are refused, so the result is never larger than the text.
// O(n) in the bytes of the text. kInvalidArgument
// "<source_name>: line 3, column 5: ...".
absl::StatusOr<ConfigValue> ParseConfigText(absl::string_view text,
                                            absl::string_view source_name);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_DOCUMENT_H_
