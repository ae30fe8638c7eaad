#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_KUBERNETES_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_KUBERNETES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// Parses `kubectl get nodes -o json`. GPUs are those that can be allocated.
// Type and memory are labels of GPU feature discovery, and network_block is the
// innermost of the topology labels. A node is unusable if it is cordoned or not
// ready, has no GPUs, or shares or slices them.
absl::StatusOr<std::vector<InventoryNode>> ParseKubernetesNodes(
    absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_KUBERNETES_H_
