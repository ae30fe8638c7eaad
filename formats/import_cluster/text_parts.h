#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_TEXT_PARTS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_TEXT_PARTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// What several parsers need; inside formats/import_cluster only.
namespace tangram {

// The parts between the commas that are not inside brackets of that kind.
std::vector<absl::string_view> SplitOutside(absl::string_view text, char open,
                                            char close);

// The text as a value in YAML: words and numbers as they are, all else quoted.
std::string YamlScalar(absl::string_view text);

// Untrusted text as it may stand in a message or a comment.
std::string Shown(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_TEXT_PARTS_H_
