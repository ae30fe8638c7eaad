#include "formats/config/group_fields.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/device_fields.h"
#include "formats/config/link_fields.h"

namespace tangram {
namespace {

// The fields that describe the GPU of a group. `gpu` is either a type name,
// with the device's fields beside it in the group, or a mapping that holds
// them: {type: T4, memory: ...}.
struct GpuFields {
  std::string type;
  ConfigField fields;
};

absl::StatusOr<GpuFields> FindGpuFields(const ConfigField& group,
                                        const KeyList& group_keys) {
  constexpr absl::string_view kExpected = "a GPU type such as A100-80";
  const std::optional<ConfigField> gpu = group.Find("gpu");
  const bool apart = gpu.has_value() && gpu->is_mapping();
  TANGRAM_RETURN_IF_ERROR(
      group.CheckKeys(apart ? group_keys : Join(group_keys, DeviceKeys())));
  if (!gpu.has_value()) return group.MissingError("gpu", kExpected);
  if (!apart) {
    TANGRAM_ASSIGN_OR_RETURN(std::string type, gpu->AsText());
    return GpuFields{type, group};
  }
  TANGRAM_RETURN_IF_ERROR(gpu->CheckKeys(Join({"type"}, DeviceKeys())));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField type,
                           gpu->Require("type", kExpected));
  TANGRAM_ASSIGN_OR_RETURN(std::string type_name, type.AsText());
  return GpuFields{type_name, *gpu};
}

absl::StatusOr<int> ReadGpusPerNode(const ConfigField& group,
                                    const CatalogueDevice* known,
                                    std::vector<Assumption>& assumptions) {
  if (const auto field = group.Find("gpus_per_node")) {
    return field->AsInt(1, kMaxGpusPerNode);
  }
  if (known == nullptr) {
    return group.MissingError("gpus_per_node", "a positive integer");
  }
  assumptions.push_back({absl::StrCat(group.path(), ".gpus_per_node"),
                         absl::StrCat(known->gpus_per_node),
                         CatalogueSource(*known)});
  return known->gpus_per_node;
}

LinkDefaults DefaultsOf(const CatalogueDevice* known, const DeviceSpec& device,
                        LinkPlace place, int gpus_per_node) {
  if (known == nullptr) return LinkDefaultsOf(device, gpus_per_node, place);
  return {place,
          place == LinkPlace::kIntraNode ? known->intra_node
                                         : InterNodeLink(*known, gpus_per_node),
          CatalogueSource(*known)};
}

// Reads everything but the number and names of the nodes.
absl::StatusOr<NodeGroup> ReadCommonFields(const ConfigField& field,
                                           const KeyList& keys) {
  NodeGroup group;
  TANGRAM_ASSIGN_OR_RETURN(const GpuFields gpu, FindGpuFields(field, keys));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField name,
                           field.Require("name", "a name such as t4"));
  TANGRAM_ASSIGN_OR_RETURN(group.name, name.AsName());

  const CatalogueDevice* known = FindDevice(gpu.type);
  TANGRAM_ASSIGN_OR_RETURN(
      group.node.device,
      ReadDevice(gpu.fields, gpu.type, known, group.assumptions));
  TANGRAM_ASSIGN_OR_RETURN(group.node.num_gpus,
                           ReadGpusPerNode(field, known, group.assumptions));
  TANGRAM_ASSIGN_OR_RETURN(
      group.node.intra_node,
      ReadOptionalLink(field, "intra_node",
                       DefaultsOf(known, group.node.device,
                                  LinkPlace::kIntraNode, group.node.num_gpus),
                       group.assumptions));
  TANGRAM_ASSIGN_OR_RETURN(
      group.inter_node,
      ReadOptionalLink(field, "inter_node",
                       DefaultsOf(known, group.node.device,
                                  LinkPlace::kInterNode, group.node.num_gpus),
                       group.inter_node_assumptions));
  return group;
}

absl::StatusOr<std::vector<std::string>> ReadNodeNames(const ConfigField& field,
                                                       int num_nodes) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           field.Elements());
  if (static_cast<int>(elements.size()) != num_nodes) {
    return field.Error(absl::StrCat("one name for each of the ", num_nodes,
                                    " nodes; there are ", elements.size()));
  }
  std::vector<std::string> names;
  names.reserve(elements.size());
  for (const ConfigField& element : elements) {
    TANGRAM_ASSIGN_OR_RETURN(names.emplace_back(), element.AsName());
  }
  return names;
}

}  // namespace

absl::StatusOr<NodeGroup> ReadGroup(const ConfigField& field) {
  TANGRAM_ASSIGN_OR_RETURN(
      NodeGroup group,
      ReadCommonFields(field, {"name", "gpu", "nodes", "gpus_per_node",
                               "intra_node", "inter_node", "node_names"}));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField nodes,
                           field.Require("nodes", "a positive integer"));
  TANGRAM_ASSIGN_OR_RETURN(group.num_nodes, nodes.AsInt(1, kMaxNodes));
  if (const auto names = field.Find("node_names")) {
    TANGRAM_ASSIGN_OR_RETURN(group.node_names,
                             ReadNodeNames(*names, group.num_nodes));
  }
  return group;
}

absl::StatusOr<NodeGroup> ReadSingleNode(const ConfigField& field) {
  TANGRAM_ASSIGN_OR_RETURN(
      NodeGroup group, ReadCommonFields(field, {"name", "gpu", "gpus_per_node",
                                                "intra_node", "inter_node"}));
  group.node_names = {group.name};
  return group;
}

}  // namespace tangram
