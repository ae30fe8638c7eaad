#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_NODE_SET_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_NODE_SET_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// Nodes in the order they came, each once. A node that comes again, as one that
// is in several partitions does, adds what was not yet known of it.
class NodeSet {
 public:
  void Add(InventoryNode node);
  std::vector<InventoryNode> Take() { return std::move(nodes_); }

  // Null if there is none of that name.
  InventoryNode* Find(const std::string& name);

 private:
  std::vector<InventoryNode> nodes_;
  absl::flat_hash_map<std::string, size_t> index_;
};

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_NODE_SET_H_
