#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_CHOOSE_GPU_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_CHOOSE_GPU_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "formats/config/device_list.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// The GPUs of one node that plans use.
struct ChosenGpus {
  std::string type;                         // Catalogue's name, if it has one.
  const CatalogueDevice* device = nullptr;  // Null: not in the catalogue.
  int count = 0;
  std::string source;   // "gpu:a100" or "told by --gpu".
  std::string note;     // How the name was understood; empty: nothing to say.
  std::string skipped;  // Reason if there are no such GPUs.
};

// Types that the user told.
struct ToldTypes {
  std::map<std::string, std::string> by_gpu;   // By inventory name, lower case.
  std::map<std::string, std::string> by_node;  // By name of a node.

  // The keys of `told` are names of GPUs or hostlists. Each is kept as both,
  // since nothing tells them apart.
  static ToldTypes From(const std::map<std::string, std::string>& told);
};

// Returns an error of the first told type that neither the catalogue nor the
// user's own file describes. All its nodes would be left out.
absl::Status CheckToldTypes(const std::map<std::string, std::string>& told,
                            absl::Span<const std::string> own_types);

// Chooses one GPU type for a node, because a plan needs nodes of one type: the
// type with the highest total throughput. Slices of GPUs are not used.
ChosenGpus ChooseGpus(const InventoryNode& node, const ToldTypes& told,
                      absl::Span<const std::string> own_types, bool free_only);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_CHOOSE_GPU_H_
