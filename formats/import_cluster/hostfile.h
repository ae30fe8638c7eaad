#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_HOSTFILE_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_HOSTFILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// Reads a hostfile of MPI or DeepSpeed: lines "worker-1 slots=8" or
// "worker-1:8". `type=A100` after it, as FlagScale writes it, is the type of
// the GPUs; without it they have none. kInvalidArgument names the line.
absl::StatusOr<std::vector<InventoryNode>> ParseHostfile(
    absl::string_view text);

// Returns whether each line of the text is one of a hostfile.
bool IsHostfile(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_HOSTFILE_H_
