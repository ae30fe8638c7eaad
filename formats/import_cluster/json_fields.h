#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_JSON_FIELDS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_JSON_FIELDS_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

// JSON of other programs, of which nothing can be taken for granted; inside
// formats/import_cluster only.
namespace tangram {

// kInvalidArgument with the place of the first error.
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text);

// What is at the end of the path of keys; null where there is no such thing.
const nlohmann::json& At(const nlohmann::json& value,
                         std::initializer_list<absl::string_view> path);

// The elements of a list; none of anything else.
const std::vector<nlohmann::json>& Elements(const nlohmann::json& value);

// A text, or a whole number as text; empty for anything else.
std::string TextOf(const nlohmann::json& value);

// A list of texts joined by `separator`, or one text.
std::string JoinedText(const nlohmann::json& value,
                       absl::string_view separator);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_JSON_FIELDS_H_
