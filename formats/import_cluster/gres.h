#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_GRES_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_GRES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// Returns the GPUs in a list of Slurm's generic resources, in its order:
// "gpu:a100:4(S:0-1),tmpdisk:1T" has four a100. "(null)" has none. Other
// resources, such as shares of GPUs (mps, shard), are ignored.
// kInvalidArgument for a gpu entry without a count.
absl::StatusOr<std::vector<InventoryGpus>> ParseGres(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_GRES_H_
