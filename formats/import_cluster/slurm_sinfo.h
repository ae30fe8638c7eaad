#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_SINFO_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_SINFO_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// Parses the output of sinfo with -o or -O, for nodes or for sets of them.
// Columns are separated by '|' or blanks and found by their titles, which must
// include NODELIST, STATE and GRES. A node is printed once for each of its
// partitions and returned once. Columns that -O cut short are detected and not
// used.
absl::StatusOr<std::vector<InventoryNode>> ParseSinfoTable(
    absl::string_view text);

// Parses `sinfo --json` of Slurm 22.05 (a list of nodes) and of 23.02 and later
// (a list of sets of nodes), and `scontrol show nodes --json`.
absl::StatusOr<std::vector<InventoryNode>> ParseSlurmJson(
    absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_SLURM_SINFO_H_
