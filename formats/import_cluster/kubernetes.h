#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_KUBERNETES_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_KUBERNETES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// `kubectl get nodes -o json`. GPUs are those that can be allocated; type and
// memory are the labels of GPU feature discovery; network_block is the nearest
// of the topology labels. Not usable are nodes that are cordoned or not ready,
// whose GPUs are shared between pods or cut into slices, or that have none.
absl::StatusOr<std::vector<InventoryNode>> ParseKubernetesNodes(
    absl::string_view text);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_KUBERNETES_H_
