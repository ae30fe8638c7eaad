#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_NODE_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_NODE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// A node in Slurm's terms, as any of its commands prints it.
struct SlurmNode {
  std::string name;
  std::string state;      // "IDLE+DRAIN", "drain*".
  std::string gres;       // "gpu:a100:8".
  std::string gres_used;  // "gpu:a100:2(IDX:0-1)"; empty: not reported.
  std::string features;   // "a100,ib"; name GPUs that `gres` leaves untyped.
  std::string reason;     // Administrator's reason for taking it out.
  std::vector<std::string> partitions;
};

// Returns why no job can start on a node in that state: "draining", "not
// responding". Empty if one can start now or once others end.
std::string WhyUnusable(absl::string_view state);

// kInvalidArgument if `gres` is not a list of resources. A bad `gres_used` only
// counts as unknown, since sinfo cuts that column short.
absl::StatusOr<InventoryNode> NodeFromSlurm(const SlurmNode& node);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_NODE_H_
