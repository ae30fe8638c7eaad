#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_FORMAT_HINTS_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_FORMAT_HINTS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// Returns what a text is that no format can read, and what to give instead:
// "a table of kubectl; expected kubectl get nodes -o json". For texts that lack
// what a cluster file needs, such as a table that names no GPUs. Empty: the
// text is not known.
std::string HintFor(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_FORMAT_HINTS_H_
