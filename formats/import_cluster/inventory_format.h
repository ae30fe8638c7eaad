#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_FORMAT_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_FORMAT_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace tangram {

enum class InventoryFormat {
  kScontrolNodes,
  kScontrolTopology,
  kSinfo,
  kSlurmJson,
  kKubernetes,
  kNvidiaSmiXml,
  kGpuTopology,
  kNcclTests,
};

// What the text was printed by; empty if it is none of these.
std::optional<InventoryFormat> DetectFormat(absl::string_view text);

// "scontrol show node", "nvidia-smi topo -m".
absl::string_view CommandOf(InventoryFormat format);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_INVENTORY_FORMAT_H_
