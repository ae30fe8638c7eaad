#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_TEXT_PARTS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_TEXT_PARTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Helpers of several parsers; for formats/import_cluster only.
namespace tangram {

// Splits at commas that are not inside brackets of that kind.
std::vector<absl::string_view> SplitOutside(absl::string_view text, char open,
                                            char close);

// Writes a text as a YAML scalar: words and numbers as they are, others quoted.
std::string YamlScalar(absl::string_view text);

// Escapes untrusted text for a message or a comment.
std::string Shown(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_TEXT_PARTS_H_
