#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_NODE_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_NODE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// A node in Slurm's words, whichever command printed them.
struct SlurmNode {
  std::string name;
  std::string state;      // "IDLE+DRAIN", "drain*".
  std::string gres;       // "gpu:a100:8".
  std::string gres_used;  // "gpu:a100:2(IDX:0-1)"; empty: not said.
  std::string reason;     // Why an administrator took it out.
  std::vector<std::string> partitions;
};

// Why no job can start on a node of that state: "draining", "not responding";
// empty if one can, now or once others end.
std::string WhyUnusable(absl::string_view state);

// kInvalidArgument for GPUs that are no such list. GPUs in use that are none
// are taken for unknown, since sinfo cuts that column.
absl::StatusOr<InventoryNode> NodeFromSlurm(const SlurmNode& node);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_NODE_H_
