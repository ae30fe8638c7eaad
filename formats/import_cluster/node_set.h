#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_NODE_SET_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_NODE_SET_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "formats/import_cluster/inventory.h"

namespace tangram {

// Nodes in order of arrival, each once. A node that arrives again, as one in
// several partitions does, adds what was not known of it.
class NodeSet {
 public:
  void Add(InventoryNode node);
  std::vector<InventoryNode> Take() { return std::move(nodes_); }

  // Returns the node of that name; null if there is none.
  InventoryNode* Find(const std::string& name);

 private:
  std::vector<InventoryNode> nodes_;
  absl::flat_hash_map<std::string, size_t> index_;
};

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_NODE_SET_H_
