#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "formats/import_cluster/hostlist.h"
#include "formats/import_cluster/json_fields.h"
#include "formats/import_cluster/node_set.h"
#include "formats/import_cluster/slurm_node.h"
#include "formats/import_cluster/slurm_sinfo.h"

namespace tangram {
namespace {

using ::nlohmann::json;

// State and flags: "idle" with flags beside it in 22.05, later one list.
std::string StateOf(const json& node) {
  std::string state = JoinedText(At(node, {"state"}), "+");
  const std::string flags = JoinedText(At(node, {"state_flags"}), "+");
  if (!flags.empty()) absl::StrAppend(&state, "+", flags);
  return state;
}

std::string FeaturesOf(const json& node) {
  std::string features = JoinedText(At(node, {"active_features"}), ",");
  if (features.empty()) features = JoinedText(At(node, {"features"}), ",");
  return features;
}

std::vector<std::string> PartitionsOf(const json& node) {
  std::vector<std::string> partitions;
  for (const json& partition : Elements(At(node, {"partitions"}))) {
    partitions.push_back(TextOf(partition));
  }
  return partitions;
}

absl::Status AddNode(const json& node, NodeSet& nodes) {
  if (TextOf(At(node, {"name"})).empty()) {
    return absl::InvalidArgumentError("no name; expected a node");
  }
  TANGRAM_ASSIGN_OR_RETURN(
      InventoryNode found,
      NodeFromSlurm({.name = TextOf(At(node, {"name"})),
                     .state = StateOf(node),
                     .gres = TextOf(At(node, {"gres"})),
                     .gres_used = TextOf(At(node, {"gres_used"})),
                     .features = FeaturesOf(node),
                     .reason = TextOf(At(node, {"reason"})),
                     .partitions = PartitionsOf(node)}));
  nodes.Add(std::move(found));
  return absl::OkStatus();
}

// Adds an entry of Slurm 23.02 and later: equal nodes of one partition.
absl::Status AddNodeSet(const json& set, NodeSet& nodes) {
  SlurmNode node{
      .state = StateOf(At(set, {"node"})),
      .gres = TextOf(At(set, {"gres", "total"})),
      .gres_used = TextOf(At(set, {"gres", "used"})),
      .reason = JoinedText(At(set, {"reason", "description"}), "; ")};
  if (node.reason.empty()) node.reason = TextOf(At(set, {"reason"}));
  const std::string partition = TextOf(At(set, {"partition", "name"}));
  if (!partition.empty()) node.partitions = {partition};
  for (const json& entry : Elements(At(set, {"nodes", "nodes"}))) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                             ExpandHostlist(TextOf(entry)));
    for (const std::string& name : names) {
      node.name = name;
      TANGRAM_ASSIGN_OR_RETURN(InventoryNode found, NodeFromSlurm(node));
      nodes.Add(std::move(found));
    }
  }
  return absl::OkStatus();
}

absl::Status AddAll(const json& list, absl::string_view key,
                    absl::Status (*add)(const json&, NodeSet&),
                    NodeSet& nodes) {
  int index = 0;
  for (const json& element : Elements(list)) {
    if (const absl::Status status = add(element, nodes); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(key, "[", index, "]: ", status.message()));
    }
    ++index;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<InventoryNode>> ParseSlurmJson(
    absl::string_view text) {
  TANGRAM_ASSIGN_OR_RETURN(const json root, ParseJson(text));
  NodeSet nodes;
  TANGRAM_RETURN_IF_ERROR(AddAll(At(root, {"nodes"}), "nodes", AddNode, nodes));
  TANGRAM_RETURN_IF_ERROR(
      AddAll(At(root, {"sinfo"}), "sinfo", AddNodeSet, nodes));
  return nodes.Take();
}

}  // namespace tangram
