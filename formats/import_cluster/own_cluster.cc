#include "formats/import_cluster/own_cluster.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "formats/config/config_field.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/link_fields.h"
#include "formats/import_cluster/find_groups.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

// Returns the value of that key; null if it has none.
const ConfigValue* Child(const ConfigValue& value, absl::string_view key) {
  for (size_t i = 0; i < value.keys.size(); ++i) {
    if (value.keys[i] == key &&
        value.items[i].kind != ConfigValue::Kind::kNull) {
      return &value.items[i];
    }
  }
  return nullptr;
}

std::string ScalarOf(const ConfigValue& value, absl::string_view key) {
  const ConfigValue* child = Child(value, key);
  return child == nullptr ? "" : child->scalar;
}

// Returns the GPU type; `gpu` is a type or a mapping that holds one.
std::string GpuTypeOf(const ConfigValue& group) {
  const ConfigValue* gpu = Child(group, "gpu");
  if (gpu == nullptr) return "";
  return gpu->kind == ConfigValue::Kind::kMapping ? ScalarOf(*gpu, "type")
                                                  : gpu->scalar;
}

// Writes a value on one line. Numbers and words stay as they were typed.
std::string FlowYaml(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::kNull:
      return "null";
    case ConfigValue::Kind::kScalar:
      return YamlScalar(value.scalar);
    case ConfigValue::Kind::kSequence:
      return absl::StrCat(
          "[",
          absl::StrJoin(value.items, ", ",
                        [](std::string* out, const ConfigValue& item) {
                          out->append(FlowYaml(item));
                        }),
          "]");
    case ConfigValue::Kind::kMapping: {
      std::vector<std::string> members;
      for (size_t i = 0; i < value.keys.size(); ++i) {
        members.push_back(absl::StrCat(YamlScalar(value.keys[i]), ": ",
                                       FlowYaml(value.items[i])));
      }
      return absl::StrCat("{", absl::StrJoin(members, ", "), "}");
    }
  }
  return "";
}

// Makes paths of profiles relative to the folder of the file, since the result
// may be stored elsewhere.
void Rebase(const std::string& folder, ConfigValue& profile) {
  if (profile.kind == ConfigValue::Kind::kScalar && !folder.empty() &&
      !absl::StartsWith(profile.scalar, "/")) {
    profile.scalar = absl::StrCat(folder, "/", profile.scalar);
  }
  for (ConfigValue& item : profile.items) Rebase(folder, item);
}

const std::vector<ConfigValue>& ListOf(const OwnFile& own,
                                       absl::string_view key) {
  static const auto& none = *new std::vector<ConfigValue>();
  const ConfigValue* list = Child(own.root, key);
  return list == nullptr ? none : list->items;
}

void SetFields(const ConfigValue& mapping, const std::string& source,
               DraftFields& fields) {
  for (size_t i = 0; i < mapping.keys.size(); ++i) {
    SetField({mapping.keys[i], FlowYaml(mapping.items[i]), source}, fields);
  }
}

// Lays one key of an own group over the draft's. A link is merged key by key;
// any other value is replaced.
void SetGroupField(const OwnFile& own, const std::string& key,
                   ConfigValue value, DraftGroup& group) {
  const std::string source = Shown(own.name);
  const bool is_mapping = value.kind == ConfigValue::Kind::kMapping;
  if (key == "name") return;
  if (key == "intra_node" && is_mapping) {
    SetFields(value, source, group.intra_node);
  } else if (key == "inter_node" && is_mapping) {
    SetFields(value, source, group.inter_node);
  } else {
    if (key == "profile") Rebase(own.folder, value);
    SetField({key, FlowYaml(value), source}, group.fields);
  }
}

// Returns whether the entry describes nodes of its own.
bool HasNodes(const ConfigValue& group) {
  return Child(group, "nodes") != nullptr ||
         Child(group, "node_names") != nullptr;
}

// Notes that the entry at `path` is about a group without chosen nodes.
void NoteUnused(const OwnFile& own, const std::string& path,
                const std::string& group, ClusterDraft& draft) {
  draft.notes.push_back(absl::StrCat(Shown(own.name), ": ", path,
                                     " is not used: no node of ", Shown(group),
                                     " was chosen"));
}

// Returns the groups of the draft that `entry` is about. An entry with nodes of
// its own is added to the draft and becomes that group.
absl::StatusOr<std::vector<int>> Targets(const OwnFile& own,
                                         const ConfigValue& entry,
                                         const std::string& path,
                                         ClusterDraft& draft) {
  const std::string name = ScalarOf(entry, "name");
  const std::string type = GpuTypeOf(entry);
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(own.name, ": ", path, ": ", what));
  };
  std::vector<int> named;
  for (size_t i = 0; i < draft.groups.size(); ++i) {
    if (draft.groups[i].name == name) named.push_back(static_cast<int>(i));
  }
  if (!HasNodes(entry)) {
    if (named.empty() && !type.empty()) named = GroupsNamed(type, draft);
    if (!named.empty()) return named;
    const std::string about = name.empty() ? type : name;
    if (draft.is_part && !about.empty()) {
      NoteUnused(own, path, about, draft);
      return named;
    }
    return error(absl::StrCat(
        name.empty() ? "no name" : Shown(name), "; expected one of the groups ",
        GroupNames(draft), ", a `gpu` of theirs, or `nodes` of its own"));
  }
  if (!named.empty()) {
    return error(absl::StrCat("nodes of ", Shown(name),
                              " are given; expected them from the inventory"));
  }
  draft.groups.push_back({.name = name, .name_source = Shown(own.name)});
  return std::vector<int>{static_cast<int>(draft.groups.size()) - 1};
}

// Lays each own group over the groups that it is about.
absl::Status MergeGroups(const OwnFile& own, ClusterDraft& draft) {
  const std::vector<ConfigValue>& entries = ListOf(own, "groups");
  for (size_t i = 0; i < entries.size(); ++i) {
    const ConfigValue& entry = entries[i];
    TANGRAM_ASSIGN_OR_RETURN(
        const std::vector<int> targets,
        Targets(own, entry, absl::StrCat("groups[", i, "]"), draft));
    for (const int target : targets) {
      DraftGroup& group = draft.groups[target];
      for (size_t k = 0; k < entry.keys.size(); ++k) {
        SetGroupField(own, entry.keys[k], entry.items[k], group);
      }
      group.device = FindDevice(GpuTypeOf(entry).empty()
                                    ? FindField(group.fields, "gpu")->value
                                    : GpuTypeOf(entry));
    }
  }
  return absl::OkStatus();
}

// Returns the groups of that name or type. If there are none, the result is
// empty for a part of a cluster. Otherwise it is the name itself, so that
// reading the result reports an error.
std::vector<std::string> EndNames(const OwnFile& own, const std::string& path,
                                  const std::string& end, ClusterDraft& draft) {
  std::vector<std::string> names;
  for (const int index : GroupsNamed(end, draft)) {
    names.push_back(draft.groups[index].name);
  }
  if (!names.empty()) return names;
  if (!draft.is_part || end.empty()) return {end};
  NoteUnused(own, path, end, draft);
  return {};
}

bool Joins(const DraftLink& link, const std::string& a, const std::string& b) {
  return (link.from == a && link.to == b) || (link.from == b && link.to == a);
}

// Expands own links over GPU types to pairs of groups, and puts them first.
void MergeLinks(const OwnFile& own, ClusterDraft& draft) {
  std::vector<DraftLink> links;
  const std::vector<ConfigValue>& entries = ListOf(own, "links");
  for (size_t i = 0; i < entries.size(); ++i) {
    const ConfigValue& entry = entries[i];
    DraftLink link{.both = ScalarOf(entry, "both") != "false"};
    for (const absl::string_view key : LinkKeys()) {
      const ConfigValue* value = Child(entry, key);
      if (value == nullptr) continue;
      SetField({std::string(key), FlowYaml(*value), Shown(own.name)},
               link.fields);
    }
    const std::string path = absl::StrCat("links[", i, "]");
    const std::vector<std::string> tos =
        EndNames(own, path, ScalarOf(entry, "to"), draft);
    for (const std::string& from :
         EndNames(own, path, ScalarOf(entry, "from"), draft)) {
      for (const std::string& to : tos) {
        if (from == to) continue;
        link.from = from;
        link.to = to;
        links.push_back(link);
      }
    }
  }
  // The user's links replace measured ones between the same groups.
  for (DraftLink& measured : draft.links) {
    const bool given = absl::c_any_of(links, [&](const DraftLink& link) {
      return Joins(link, measured.from, measured.to);
    });
    if (!given) links.push_back(std::move(measured));
  }
  draft.links = std::move(links);
}

}  // namespace

absl::StatusOr<OwnFile> ParseOwnFile(const OwnCluster& own) {
  OwnFile file{.name = own.name, .folder = own.folder};
  TANGRAM_ASSIGN_OR_RETURN(file.root, ParseConfigText(own.text, own.name));
  const ConfigField root(file.root, own.name);
  TANGRAM_RETURN_IF_ERROR(
      root.CheckKeys({"name", "groups", "links", "default_link"}));
  for (const absl::string_view key : {"groups", "links"}) {
    const std::optional<ConfigField> list = root.Find(key);
    if (!list.has_value()) continue;
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> entries,
                             list->Elements());
    for (const ConfigField& entry : entries) {
      TANGRAM_RETURN_IF_ERROR(entry.CheckMapping());
      if (key == "groups") continue;
      TANGRAM_RETURN_IF_ERROR(entry.CheckKeys(
          {"from", "to", "both", "bandwidth", "pair_bandwidth", "latency"}));
    }
  }
  return file;
}

std::vector<std::string> GpuTypesOf(const OwnFile& own) {
  std::vector<std::string> types;
  for (const ConfigValue& group : ListOf(own, "groups")) {
    const std::string type = GpuTypeOf(group);
    if (!type.empty()) types.push_back(type);
  }
  return types;
}

absl::Status MergeOwnFile(const OwnFile& own, ClusterDraft& draft) {
  const std::string name = ScalarOf(own.root, "name");
  if (!name.empty()) draft.name = name;
  TANGRAM_RETURN_IF_ERROR(MergeGroups(own, draft));
  MergeLinks(own, draft);
  if (const ConfigValue* link = Child(own.root, "default_link")) {
    SetFields(*link, Shown(own.name), draft.default_link);
  }
  return absl::OkStatus();
}

}  // namespace tangram
