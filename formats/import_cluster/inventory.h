#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tangram {

// GPUs of one type in a node, as a scheduler or driver names them.
struct InventoryGpus {
  std::string name;     // Empty: not reported.
  std::string product;  // Driver's name for them; empty: no driver was asked.
  int count = 0;
  int used = 0;  // GPUs of running jobs, if reported.
  bool operator==(const InventoryGpus&) const = default;
};

// The reason of a Kubernetes node that is not used for want of GPUs begins so.
inline constexpr absl::string_view kNoGpuAllocatable =
    "no GPU can be allocated";

// A node as one source describes it. Values that it does not report are empty
// or 0.
struct InventoryNode {
  std::string name;
  std::vector<InventoryGpus> gpus;
  double gpu_memory_bytes = 0;         // One GPU, by its label.
  double usable_gpu_memory_bytes = 0;  // One GPU, less the driver's reserve.
  int pcie_generation = 0;
  int pcie_lanes = 0;
  std::string network_block;  // Leaf switch or zone.
  std::vector<std::string> partitions;
  std::string unusable;  // Reason why no job can run; empty: usable.
  std::string source;    // Name of the file.
};

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_H_
