#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_JSON_FIELDS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_JSON_FIELDS_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

// Tolerant access to JSON of other programs; for formats/import_cluster only.
namespace tangram {

// kInvalidArgument names the position of the first error.
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text);

// Likewise, or YAML, all of whose scalars become texts.
absl::StatusOr<nlohmann::json> ParseJsonOrYaml(absl::string_view text);

// Returns the value at the end of the path of keys; null if there is none.
const nlohmann::json& At(const nlohmann::json& value,
                         std::initializer_list<absl::string_view> path);

// Returns the elements of a list; empty for anything else.
const std::vector<nlohmann::json>& Elements(const nlohmann::json& value);

// Returns a text, or a whole number as text; empty for anything else.
std::string TextOf(const nlohmann::json& value);

// Returns whether the value is true, also as a text.
bool IsTrue(const nlohmann::json& value);

// Returns a text, or a list of texts joined by `separator`.
std::string JoinedText(const nlohmann::json& value,
                       absl::string_view separator);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_JSON_FIELDS_H_
