#include "formats/import_cluster/group_nodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/base/natural_order.h"
#include "common/base/status_macros.h"
#include "formats/import_cluster/choose_gpu.h"
#include "formats/import_cluster/driver_node.h"
#include "formats/import_cluster/hostlist.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

// The longest name that a cluster file takes (formats/config/config_field).
constexpr size_t kMaxNameLength = 128;

bool IsName(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxNameLength &&
         absl::c_all_of(text, [](char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

// Replaces characters that the name of a group may not have.
std::string NamePart(absl::string_view text) {
  std::string part = absl::AsciiStrToLower(text.substr(0, kMaxNameLength / 2));
  for (char& c : part) {
    if (!IsName(absl::string_view(&c, 1))) c = '-';
  }
  return part;
}

// Collects nodes into groups by GPU type, GPUs per node and network block.
class Grouping {
 public:
  Grouping(const ClusterImportOptions& options,
           absl::Span<const std::string> own_types, ClusterDraft& draft)
      : options_(options),
        own_types_(own_types),
        told_(ToldTypes::From(options.gpu_types)),
        draft_(draft) {}

  void Add(const InventoryNode& node) {
    if (!IsWanted(node)) return;
    if (!IsName(node.name)) {
      Skip(Shown(node.name),
           "not a host name; in slurm.conf, expected scontrol show node");
      return;
    }
    if (!node.unusable.empty()) {
      Skip(node.name, Shown(node.unusable));
      return;
    }
    const ChosenGpus gpus =
        ChooseGpus(node, told_, own_types_, options_.free_gpus_only);
    if (gpus.type.empty()) {
      Skip(node.name, gpus.skipped);
      return;
    }
    if (!gpus.note.empty() && notes_.insert(gpus.note).second) {
      draft_.notes.push_back(gpus.note);
    }
    AddTo(GroupOf(node, gpus), node);
  }

  // Names each group after its GPU type. Groups of one type also get their
  // network block, then the GPUs per node, then a number, until names differ.
  void NameGroups() {
    std::set<std::string> taken;
    for (DraftGroup& group : draft_.groups) {
      const int same_type = static_cast<int>(
          absl::c_count_if(draft_.groups, [&group](const DraftGroup& other) {
            return FindField(other.fields, "gpu")->value ==
                   FindField(group.fields, "gpu")->value;
          }));
      group.name = NamePart(FindField(group.fields, "gpu")->value);
      if (same_type > 1 && !group.network_block.empty()) {
        absl::StrAppend(&group.name, "-", NamePart(group.network_block));
      }
      if (taken.count(group.name) > 0) {
        absl::StrAppend(&group.name, "-x", group.num_gpus);
      }
      const std::string base = group.name;
      for (int i = 2; !taken.insert(group.name).second; ++i) {
        group.name = absl::StrCat(base, "-", i);
      }
    }
  }

 private:
  using Key = std::tuple<std::string, int, std::string>;

  bool IsWanted(const InventoryNode& node) const {
    const std::vector<std::string>& wanted = options_.partitions;
    return wanted.empty() ||
           absl::c_any_of(node.partitions, [&wanted](const std::string& p) {
             return absl::c_linear_search(wanted, p);
           });
  }

  void Skip(std::string name, std::string why) {
    draft_.skipped.push_back({std::move(name), std::move(why)});
  }

  DraftGroup& GroupOf(const InventoryNode& node, const ChosenGpus& gpus) {
    const std::string block = options_.flat ? "" : node.network_block;
    const auto [it, inserted] = groups_.try_emplace(
        Key(gpus.type, gpus.count, block), draft_.groups.size());
    if (!inserted) return draft_.groups[it->second];
    const std::string source = Shown(node.source);
    DraftGroup group{
        .network_block = block, .num_gpus = gpus.count, .device = gpus.device};
    if (!block.empty()) {
      group.name_source = absl::StrCat("under ", Shown(block));
    }
    group.fields = {
        {"gpu", YamlScalar(gpus.type), absl::StrCat(source, ": ", gpus.source)},
        {"gpus_per_node", absl::StrCat(gpus.count), source}};
    draft_.groups.push_back(std::move(group));
    return draft_.groups.back();
  }

  // Adds a node to its group. Where the nodes of a group differ, the least
  // value is taken, because it holds for all of them.
  static void AddTo(DraftGroup& group, const InventoryNode& node) {
    group.node_names.push_back(node.name);
    if (group.pcie_generation == 0 ||
        (node.pcie_generation > 0 &&
         node.pcie_generation < group.pcie_generation)) {
      group.pcie_generation = node.pcie_generation;
      group.pcie_lanes = node.pcie_lanes;
    }
    // Labels round up. If the catalogue has the GPU, only a driver's figure
    // is more exact.
    const double bytes =
        group.device == nullptr && node.usable_gpu_memory_bytes == 0
            ? node.gpu_memory_bytes
            : node.usable_gpu_memory_bytes;
    if (bytes <= 0) return;
    const auto mebibytes = static_cast<int64_t>(bytes / kMebibyte);
    if (group.memory_mebibytes > 0 && mebibytes >= group.memory_mebibytes) {
      return;
    }
    group.memory_mebibytes = mebibytes;
    SetField({"memory", absl::StrCat(mebibytes, " MiB"), Shown(node.source)},
             group.fields);
  }

  const ClusterImportOptions& options_;
  absl::Span<const std::string> own_types_;
  const ToldTypes told_;
  ClusterDraft& draft_;
  std::map<Key, size_t> groups_;
  std::set<std::string> notes_;
};

// Returns the nodes that the user chose, or all.
absl::StatusOr<std::vector<InventoryNode>> Wanted(
    absl::Span<const InventoryNode> nodes, const std::string& hostlist) {
  std::vector<InventoryNode> wanted(nodes.begin(), nodes.end());
  if (hostlist.empty()) return wanted;
  const absl::StatusOr<std::vector<std::string>> listed =
      ExpandHostlist(hostlist);
  if (!listed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--nodes: ", listed.status().message()));
  }
  absl::flat_hash_set<std::string> names(listed->begin(), listed->end());
  wanted.erase(std::remove_if(wanted.begin(), wanted.end(),
                              [&names](const InventoryNode& node) {
                                return !names.contains(node.name);
                              }),
               wanted.end());
  for (const InventoryNode& node : wanted) names.erase(node.name);
  for (const std::string& name : *listed) {
    if (!names.contains(name)) continue;
    return FieldError("--nodes", Shown(name), "a node of the inventory");
  }
  return wanted;
}

}  // namespace

namespace {

// Returns an error of the first partition that has no node.
absl::Status CheckPartitions(absl::Span<const InventoryNode> nodes,
                             absl::Span<const std::string> partitions) {
  std::set<std::string> known;
  for (const InventoryNode& node : nodes) {
    known.insert(node.partitions.begin(), node.partitions.end());
  }
  for (const std::string& partition : partitions) {
    if (known.count(partition) > 0) continue;
    return FieldError(
        "--partition", Shown(partition),
        known.empty()
            ? "an inventory that names partitions: scontrol show node"
            : absl::StrCat("one of ", Shown(absl::StrJoin(known, ", "))));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status GroupNodes(absl::Span<const InventoryNode> nodes,
                        const ClusterImportOptions& options,
                        absl::Span<const std::string> own_types,
                        ClusterDraft& draft) {
  TANGRAM_RETURN_IF_ERROR(CheckToldTypes(options.gpu_types, own_types));
  TANGRAM_RETURN_IF_ERROR(CheckPartitions(nodes, options.partitions));
  TANGRAM_ASSIGN_OR_RETURN(std::vector<InventoryNode> wanted,
                           Wanted(nodes, options.nodes));
  absl::c_stable_sort(wanted,
                      [](const InventoryNode& a, const InventoryNode& b) {
                        return NaturalLess(a.name, b.name);
                      });
  Grouping grouping(options, own_types, draft);
  for (const InventoryNode& node : wanted) grouping.Add(node);
  grouping.NameGroups();
  return absl::OkStatus();
}

}  // namespace tangram
