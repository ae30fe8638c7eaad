#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_H_

#include <string>
#include <vector>

namespace tangram {

// The GPUs of one type in a node, as a scheduler or driver names them.
struct InventoryGpus {
  std::string name;     // Empty: not said.
  std::string product;  // What a driver calls them; empty: none was asked.
  int count = 0;
  int used = 0;  // By running jobs, where that is said.
  bool operator==(const InventoryGpus&) const = default;
};

// A node as one source describes it. What a source does not say is empty or 0.
struct InventoryNode {
  std::string name;
  std::vector<InventoryGpus> gpus;
  double gpu_memory_bytes = 0;         // Of one GPU, as its name would have it.
  double usable_gpu_memory_bytes = 0;  // Without what the driver keeps.
  int pcie_generation = 0;
  int pcie_lanes = 0;
  std::string network_block;  // Leaf switch or zone.
  std::vector<std::string> partitions;
  std::string unusable;  // Why nothing can run there; empty: it can.
  std::string source;    // The file.
};

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_H_
