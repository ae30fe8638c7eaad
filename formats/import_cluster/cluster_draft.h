#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_CLUSTER_DRAFT_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_CLUSTER_DRAFT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/config/device_list.h"

// A cluster file under construction; for formats/import_cluster only.
namespace tangram {

// A value as the file will spell it, and its source.
struct DraftField {
  std::string key;
  std::string value;  // YAML on one line.
  std::string source;
};

using DraftFields = std::vector<DraftField>;

// Returns the field with that key; null if there is none.
const DraftField* FindField(const DraftFields& fields, absl::string_view key);

// Sets the field, replacing one with the same key.
void SetField(DraftField field, DraftFields& fields);

// A group of equal nodes. Values that the file leaves to the catalogue have no
// field.
struct DraftGroup {
  std::string name;
  std::string name_source;
  std::vector<std::string> node_names;  // Empty: a group of the user's own.
  std::string network_block;            // Leaf switch or zone; may be empty.
  int num_gpus = 0;                     // In each node.
  int64_t memory_mebibytes = 0;         // Least that a driver reported.
  int pcie_generation = 0;              // 0: unknown, as for lanes.
  int pcie_lanes = 0;
  const CatalogueDevice* device = nullptr;  // Null: not in the catalogue.

  DraftFields fields;  // gpu, nodes, gpus_per_node and the GPU's properties.
  DraftFields intra_node;
  DraftFields inter_node;
};

// A link from one group to another; with `both`, in both directions.
struct DraftLink {
  std::string from;
  std::string to;
  bool both = true;  // The link holds in both directions.
  DraftFields fields;
};

// A node that is left out, and why.
struct SkippedNode {
  std::string name;
  std::string why;
};

// The whole file.
struct ClusterDraft {
  std::string name;
  std::string sources;   // Names of the source files, for people.
  bool is_part = false;  // True if the user chose some of the nodes.
  std::vector<DraftGroup> groups;
  std::vector<DraftLink> links;
  DraftFields default_link;
  std::vector<SkippedNode> skipped;
  std::vector<std::string> notes;  // How sources were understood, and why.
};

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_CLUSTER_DRAFT_H_
