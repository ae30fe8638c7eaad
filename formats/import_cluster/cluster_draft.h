#ifndef TANGRAM_FORMATS_IMPORT_CLUSTER_CLUSTER_DRAFT_H_
#define TANGRAM_FORMATS_IMPORT_CLUSTER_CLUSTER_DRAFT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "formats/config/device_list.h"

// A cluster file in the making; inside formats/import_cluster only.
namespace tangram {

// A value as it stands in the file, and where it is from.
struct DraftField {
  std::string key;
  std::string value;  // YAML on one line.
  std::string source;
};

using DraftFields = std::vector<DraftField>;

// The field of that key; null if there is none.
const DraftField* FindField(const DraftFields& fields, absl::string_view key);

// Sets the field, over one of the same key.
void SetField(DraftField field, DraftFields& fields);

// A group of equal nodes. What the file leaves to the catalogue is in no field.
struct DraftGroup {
  std::string name;
  std::string name_source;
  std::vector<std::string> node_names;  // Empty: a group of the user's own.
  std::string network_block;
  int num_gpus = 0;              // In each node.
  int64_t memory_mebibytes = 0;  // The least that a driver told.
  int pcie_generation = 0;
  int pcie_lanes = 0;
  const CatalogueDevice* device = nullptr;  // Null: not in the catalogue.

  DraftFields fields;  // gpu, nodes, gpus_per_node and what the GPU can do.
  DraftFields intra_node;
  DraftFields inter_node;
};

// From one group to another.
struct DraftLink {
  std::string from;
  std::string to;
  bool both = true;
  DraftFields fields;
};

struct SkippedNode {
  std::string name;
  std::string why;
};

struct ClusterDraft {
  std::string name;
  std::string sources;   // The files, for people.
  bool is_part = false;  // Not all nodes were asked for.
  std::vector<DraftGroup> groups;
  std::vector<DraftLink> links;
  DraftFields default_link;
  std::vector<SkippedNode> skipped;
  std::vector<std::string> notes;  // What was taken for what, and why.
};

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_CLUSTER_CLUSTER_DRAFT_H_
