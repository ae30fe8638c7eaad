#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_NVIDIA_SMI_XML_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_NVIDIA_SMI_XML_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// Parses `nvidia-smi -q -x` of one node, whose name it does not contain: types
// and number of GPUs, their least memory and their narrowest PCIe. The node is
// unusable if a GPU is cut into MIG slices or takes no work (compute mode
// Prohibited).
absl::StatusOr<InventoryNode> ParseNvidiaSmiXml(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_NVIDIA_SMI_XML_H_
