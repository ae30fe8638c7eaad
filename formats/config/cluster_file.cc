#include "formats/config/cluster_file.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "formats/config/cluster_links.h"
#include "formats/config/config_field.h"
#include "formats/config/document.h"
#include "formats/config/group_fields.h"
#include "formats/config/text_file.h"
#include "formats/profile/fit_collectives.h"

namespace tangram {
namespace {

// Any later version is to be read as a number and named in the error.
constexpr int kMaxVersion = 1 << 30;

// Runs before CheckKeys: a newer file may have keys that are not known here.
absl::Status CheckVersion(const ConfigField& root) {
  const std::optional<ConfigField> version = root.Find("tangram_cluster");
  if (!version.has_value() ||
      version->AsInt(0, kMaxVersion).value_or(0) == kClusterFileVersion) {
    return absl::OkStatus();
  }
  return version->Error(
      absl::StrCat(kClusterFileVersion, ", the version of the cluster format"));
}

struct GroupEntry {
  ConfigField field;
  NodeGroup group;
};

absl::Status AppendGroups(const ConfigField& root, absl::string_view key,
                          absl::StatusOr<NodeGroup> (*read)(const ConfigField&),
                          std::vector<GroupEntry>& entries) {
  const std::optional<ConfigField> list = root.Find(key);
  if (!list.has_value()) return absl::OkStatus();
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> fields,
                           list->Elements());
  if (entries.size() + fields.size() > kMaxGroups) {
    return list->Error(absl::StrCat(
        "at most ", kMaxGroups, " groups; write identical nodes as one group"));
  }
  for (const ConfigField& field : fields) {
    TANGRAM_ASSIGN_OR_RETURN(NodeGroup group, read(field));
    entries.push_back({field, std::move(group)});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<GroupEntry>> ReadGroups(const ConfigField& root) {
  std::vector<GroupEntry> entries;
  TANGRAM_RETURN_IF_ERROR(AppendGroups(root, "groups", ReadGroup, entries));
  TANGRAM_RETURN_IF_ERROR(AppendGroups(root, "nodes", ReadSingleNode, entries));
  if (entries.empty()) {
    return root.MissingError("groups", "a list of at least one node group");
  }
  absl::flat_hash_set<std::string> names;
  int num_nodes = 0;
  for (const GroupEntry& entry : entries) {
    if (!names.insert(entry.group.name).second) {
      return entry.field.Find("name")->Error("a name no other group has");
    }
    num_nodes += entry.group.num_nodes;
    if (num_nodes > kMaxNodes) {
      return entry.field.Find("nodes")
          .value_or(entry.field)
          .Error(absl::StrCat("at most ", kMaxNodes, " nodes in all"));
    }
  }
  return entries;
}

// Puts the name of the group in place of its number into the fields that were
// assumed: numbers change when nodes are left out.
void NameAssumptions(GroupEntry& entry) {
  const std::string& path = entry.field.path();
  const std::string named =
      absl::StrCat(path.substr(0, path.find('[')), "[", entry.group.name, "]");
  for (std::vector<Assumption>* assumptions :
       {&entry.group.assumptions, &entry.group.inter_node_assumptions}) {
    for (Assumption& assumption : *assumptions) {
      assumption.field.replace(0, path.size(), named);
    }
  }
}

absl::Status AddNodes(const GroupEntry& entry, int group_index,
                      absl::flat_hash_set<std::string>& names,
                      Cluster& cluster) {
  const NodeGroup& group = entry.group;
  Node first = group.node;
  first.group = group_index;
  FitCollectives(first);
  for (int i = 0; i < group.num_nodes; ++i) {
    Node node = first;
    node.name = group.node_names.empty() ? absl::StrCat(group.name, "-", i)
                                         : group.node_names[i];
    if (!names.insert(node.name).second) {
      return entry.field.Error(absl::StrCat("node names no other node has; ",
                                            node.name, " is taken"));
    }
    cluster.nodes.push_back(std::move(node));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Cluster> ParseCluster(absl::string_view text,
                                     absl::string_view source_name) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(text, source_name));
  const ConfigField root(value, std::string(source_name));
  TANGRAM_RETURN_IF_ERROR(CheckVersion(root));
  TANGRAM_RETURN_IF_ERROR(root.CheckKeys(
      {"tangram_cluster", "name", "groups", "nodes", "links", "default_link"}));
  const std::filesystem::path path{std::string(source_name)};
  Cluster cluster;
  TANGRAM_ASSIGN_OR_RETURN(
      cluster.name,
      ReadOr(root, "name", PrintableText(path.stem().string(), kMaxNameBytes),
             [](const ConfigField& field) { return field.AsText(); }));
  TANGRAM_ASSIGN_OR_RETURN(std::vector<GroupEntry> entries, ReadGroups(root));

  std::vector<NodeGroup> groups;
  absl::flat_hash_set<std::string> node_names;
  for (GroupEntry& entry : entries) {
    TANGRAM_RETURN_IF_ERROR(
        AddNodes(entry, static_cast<int>(groups.size()), node_names, cluster));
    NameAssumptions(entry);
    cluster.groups.push_back(entry.group.name);
    cluster.assumptions.insert(cluster.assumptions.end(),
                               entry.group.assumptions.begin(),
                               entry.group.assumptions.end());
    groups.push_back(std::move(entry.group));
  }
  TANGRAM_ASSIGN_OR_RETURN(cluster.links,
                           ReadLinks(root, groups, cluster.assumptions));
  return cluster;
}

absl::StatusOr<Cluster> LoadClusterFile(const std::string& path) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string text, ReadConfigFile(path));
  return ParseCluster(text, path);
}

}  // namespace tangram
