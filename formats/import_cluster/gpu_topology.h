#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_TOPOLOGY_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_TOPOLOGY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// The matrix of `nvidia-smi topo -m`, between GPUs.
struct GpuTopology {
  int num_gpus = 0;
  // nvlinks[a][b]: NVLinks between two GPUs; 0: PCIe, or a itself.
  std::vector<std::vector<int>> nvlinks;
  bool crosses_sockets = false;  // Some pair talks through SYS.
  int num_nics = 0;

  bool HasNvLink() const;
  bool AllPairsHaveNvLink() const;
};

// Whatever the driver: header underlined or plain, columns apart by tabs or
// blanks, with or without NICs. kInvalidArgument "line 3: ..." for a row that
// does not fit the header, or no GPU at all.
absl::StatusOr<GpuTopology> ParseGpuTopology(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_TOPOLOGY_H_
