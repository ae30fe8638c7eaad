#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_HOSTLIST_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_HOSTLIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// Expands a Slurm hostlist, as `scontrol show hostnames` does: "a,n[08-10]" is
// a, n08, n09, n10. Several brackets multiply, and the last varies fastest.
// kInvalidArgument for bad grammar or more names than a cluster may have nodes.
absl::StatusOr<std::vector<std::string>> ExpandHostlist(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_HOSTLIST_H_
