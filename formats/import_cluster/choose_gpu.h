#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_CHOOSE_GPU_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_CHOOSE_GPU_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "formats/config/device_list.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// The GPUs of one node that are planned with.
struct ChosenGpus {
  std::string type;                         // Of the catalogue where there.
  const CatalogueDevice* device = nullptr;  // Null: not in the catalogue.
  int count = 0;
  std::string source;   // "gpu:a100" or "told by --gpu".
  std::string note;     // What was taken for what; empty: nothing.
  std::string skipped;  // Why there are none.
};

// Types that the user told, by the inventory's names of GPUs or by node.
struct ToldTypes {
  std::map<std::string, std::string> by_gpu;  // In lower case.
  std::map<std::string, std::string> by_node;

  // Of names of GPUs and of hostlists; both are kept, since nothing tells them
  // apart.
  static ToldTypes From(const std::map<std::string, std::string>& told);
};

// One type a node: of several the one with the most throughput, since a plan
// is for nodes of one type. Parts of GPUs are none.
ChosenGpus ChooseGpus(const InventoryNode& node, const ToldTypes& told,
                      absl::Span<const std::string> own_types, bool free_only);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_CHOOSE_GPU_H_
