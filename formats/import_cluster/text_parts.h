#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_TEXT_PARTS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_TEXT_PARTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Helpers of several parsers.
namespace tangram {

// Splits at commas that are not inside brackets of that kind.
std::vector<absl::string_view> SplitOutside(absl::string_view text, char open,
                                            char close);

// Drops the name of the file that grep writes in front of a line:
// "/etc/slurm.conf:NodeName=n1".
absl::string_view WithoutFileName(absl::string_view line);

// Writes a text as a YAML scalar: words and numbers as they are, others quoted.
std::string YamlScalar(absl::string_view text);

// Returns the text of a file of Windows' tools, which may begin with a mark of
// its encoding: UTF-8, or UTF-16, of which '?' stands for all but ASCII.
std::string WithoutByteOrderMark(std::string text);

// Escapes untrusted text for a message or a comment.
std::string Shown(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_TEXT_PARTS_H_
