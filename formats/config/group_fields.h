#ifndef TANGRAM_FORMATS_CONFIG_GROUP_FIELDS_H_
#define TANGRAM_FORMATS_CONFIG_GROUP_FIELDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"
#include "common/domain/limits.h"
#include "formats/config/config_field.h"

namespace tangram {

// One entry of `groups` or of `nodes`: identical nodes and the links between
// them.
struct NodeGroup {
  std::string name;
  int num_nodes = 1;
  Node node;                            // Its name and group are not set.
  std::vector<std::string> node_names;  // Empty: "<group>-<i>".
  Link inter_node;
  // Values that the file did not give. Those of `inter_node` are apart, because
  // a group of one node whose links to all others are listed does not use it.
  std::vector<Assumption> assumptions;
  std::vector<Assumption> inter_node_assumptions;
};

// Reads an entry of `groups`.
absl::StatusOr<NodeGroup> ReadGroup(const ConfigField& field);

// Reads an entry of `nodes` as a group of one node with the group's name.
absl::StatusOr<NodeGroup> ReadSingleNode(const ConfigField& field);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_GROUP_FIELDS_H_
