#ifndef TANGRAM_FORMATS_CONFIG_GROUP_FIELDS_H_
#define TANGRAM_FORMATS_CONFIG_GROUP_FIELDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"
#include "formats/config/config_field.h"

namespace tangram {

inline constexpr int kMaxNodes = 100'000;
inline constexpr int kMaxGpusPerNode = 1024;

// One entry of `groups`, or of `nodes`: identical nodes and the links between
// them.
struct NodeGroup {
  std::string name;
  int num_nodes = 1;
  Node node;                            // Without name and group.
  std::vector<std::string> node_names;  // Empty: "<group>-<i>".
  Link inter_node;
  // What of the above the file did not give. `inter_node` apart: it is of no
  // use to a group of one node whose links to all others are listed.
  std::vector<Assumption> assumptions;
  std::vector<Assumption> inter_node_assumptions;
};

absl::StatusOr<NodeGroup> ReadGroup(const ConfigField& field);

// A group of one node, which has the group's name.
absl::StatusOr<NodeGroup> ReadSingleNode(const ConfigField& field);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_GROUP_FIELDS_H_
