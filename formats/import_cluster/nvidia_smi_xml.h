#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_NVIDIA_SMI_XML_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_NVIDIA_SMI_XML_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// `nvidia-smi -q -x` of one node, which it does not name: types and number of
// GPUs, the least memory of them, the narrowest PCIe of them. Not usable if a
// GPU is cut into MIG slices or takes no work (compute mode Prohibited).
absl::StatusOr<InventoryNode> ParseNvidiaSmiXml(absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_NVIDIA_SMI_XML_H_
