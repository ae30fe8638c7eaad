#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_SCONTROL_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_SCONTROL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// Parses `scontrol show node`, with or without -o (one line a node) and -d
// (GPUs in use). kInvalidArgument "line 3: Gres: gpu:x:y; expected ...".
absl::StatusOr<std::vector<InventoryNode>> ParseScontrolNodes(
    absl::string_view text);

// The nodes under one switch, or in one block.
struct NetworkBlock {
  std::string name;
  std::vector<std::string> nodes;
};

// Returns the leaves of `scontrol show topology` or of topology.conf: switches
// with nodes attached, or blocks. LinkSpeed is ignored: Slurm does not use it,
// so files rarely have it right.
absl::StatusOr<std::vector<NetworkBlock>> ParseScontrolTopology(
    absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_SCONTROL_H_
