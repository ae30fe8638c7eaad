#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_GROUP_NODES_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_GROUP_NODES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "formats/import_cluster/cluster_draft.h"
#include "formats/import_cluster/import_cluster.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// Puts usable nodes into groups of equal GPU type, number of GPUs and, unless
// `options.flat`, network block. Nodes are in natural order of their names.
// Every other node is skipped, with the reason. `own_types` are the GPU types
// that the user's own file describes.
absl::Status GroupNodes(absl::Span<const InventoryNode> nodes,
                        const ClusterImportOptions& options,
                        absl::Span<const std::string> own_types,
                        ClusterDraft& draft);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_GROUP_NODES_H_
