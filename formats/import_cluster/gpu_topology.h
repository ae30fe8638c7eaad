#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_TOPOLOGY_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_TOPOLOGY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// The matrix that `nvidia-smi topo -m` prints, reduced to GPUs.
struct GpuTopology {
  int num_gpus = 0;
  // nvlinks[a][b] is the number of NVLinks between two GPUs. 0 means PCIe, and
  // stands where a = b.
  std::vector<std::vector<int>> nvlinks;
  bool crosses_sockets = false;  // Some pair talks across sockets (SYS).
  int num_nics = 0;

  bool HasNvLink() const;
  bool AllPairsHaveNvLink() const;
};

// Parses the output of any driver version: header underlined or plain, columns
// separated by tabs or blanks, with or without NICs. kInvalidArgument
// "line 3: ..." for a row that does not fit the header, or without any GPU.
absl::StatusOr<GpuTopology> ParseGpuTopology(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_GPU_TOPOLOGY_H_
