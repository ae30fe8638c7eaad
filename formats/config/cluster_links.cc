#include "formats/config/cluster_links.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "formats/config/link_fields.h"

namespace tangram {
namespace {

// With more assumed pairs of groups than this, only their number is listed.
constexpr size_t kMaxListedPairs = 50;

// [from][to]; empty where nothing is known yet.
using LinkTable = std::vector<std::vector<std::optional<Link>>>;

LinkDefaults NetworkDefaults() {
  return GeneralLinkDefaults(LinkPlace::kInterNode);
}

Link SlowerOf(const Link& a, const Link& b) {
  // Takes the lower bandwidths and the higher latency of the two.
  return {std::min(a.bandwidth_bytes_per_s, b.bandwidth_bytes_per_s),
          std::min(a.pair_bandwidth_bytes_per_s, b.pair_bandwidth_bytes_per_s),
          std::max(a.latency_s, b.latency_s)};
}

absl::StatusOr<int> ReadGroupName(const ConfigField& entry,
                                  absl::string_view key,
                                  absl::Span<const NodeGroup> groups) {
  const auto names = [&groups] {
    return absl::StrCat(
        "one of ",
        absl::StrJoin(groups, ", ", [](std::string* out, const NodeGroup& g) {
          out->append(g.name);
        }));
  };
  const std::optional<ConfigField> field = entry.Find(key);
  if (!field.has_value()) return entry.MissingError(key, names());
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, field->AsText());
  const auto it = absl::c_find_if(
      groups, [&name](const NodeGroup& group) { return group.name == name; });
  if (it == groups.end()) return field->Error(names());
  return static_cast<int>(it - groups.begin());
}

absl::Status ReadEntry(const ConfigField& entry,
                       absl::Span<const NodeGroup> groups, LinkTable& table,
                       std::vector<Assumption>& assumptions) {
  TANGRAM_RETURN_IF_ERROR(
      entry.CheckKeys(Join({"from", "to", "both"}, LinkKeys())));
  TANGRAM_ASSIGN_OR_RETURN(const int from,
                           ReadGroupName(entry, "from", groups));
  TANGRAM_ASSIGN_OR_RETURN(const int to, ReadGroupName(entry, "to", groups));
  TANGRAM_ASSIGN_OR_RETURN(
      const bool both,
      ReadOr(entry, "both", true,
             [](const ConfigField& field) { return field.AsBool(); }));
  TANGRAM_ASSIGN_OR_RETURN(const Link link,
                           ReadLink(entry, NetworkDefaults(), assumptions));
  if (from == to) {
    return entry.Find("to")->Error(
        "another group than `from`; use inter_node inside a group");
  }
  if (table[from][to].has_value() || (both && table[to][from].has_value())) {
    return entry.Find("to")->Error(
        "each direction of a pair of groups in one link");
  }
  table[from][to] = link;
  if (both) table[to][from] = link;
  return absl::OkStatus();
}

absl::StatusOr<LinkTable> ReadEntries(const ConfigField& root,
                                      absl::Span<const NodeGroup> groups,
                                      std::vector<Assumption>& assumptions) {
  LinkTable table(groups.size(),
                  std::vector<std::optional<Link>>(groups.size()));
  const std::optional<ConfigField> links = root.Find("links");
  if (!links.has_value()) return table;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> entries,
                           links->Elements());
  for (const ConfigField& entry : entries) {
    TANGRAM_RETURN_IF_ERROR(ReadEntry(entry, groups, table, assumptions));
  }
  return table;
}

// Fills the pairs that are still empty and records them as assumptions.
void AssumeRest(absl::Span<const NodeGroup> groups, LinkTable& table,
                std::vector<Assumption>& assumptions) {
  std::vector<Assumption> assumed;
  size_t num_assumed = 0;
  std::vector<bool> uses_inter_node(groups.size());
  for (size_t a = 0; a < groups.size(); ++a) {
    uses_inter_node[a] = uses_inter_node[a] || groups[a].num_nodes > 1;
    for (size_t b = 0; b < groups.size(); ++b) {
      if (a == b || table[a][b].has_value()) continue;
      table[a][b] = SlowerOf(groups[a].inter_node, groups[b].inter_node);
      uses_inter_node[a] = uses_inter_node[b] = true;
      if (++num_assumed > kMaxListedPairs) continue;
      assumed.push_back(
          {absl::StrCat("links[", groups[a].name, " to ", groups[b].name, "]"),
           FormatLink(*table[a][b]), "slower inter_node of the two groups"});
    }
  }
  if (num_assumed > kMaxListedPairs) {
    assumed = {{"links", absl::StrCat(num_assumed, " pairs of groups"),
                "slower inter_node of the two groups"}};
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    if (!uses_inter_node[g]) continue;
    assumptions.insert(assumptions.end(),
                       groups[g].inter_node_assumptions.begin(),
                       groups[g].inter_node_assumptions.end());
  }
  assumptions.insert(assumptions.end(), assumed.begin(), assumed.end());
}

}  // namespace

absl::StatusOr<std::vector<std::vector<Link>>> ReadLinks(
    const ConfigField& root, absl::Span<const NodeGroup> groups,
    std::vector<Assumption>& assumptions) {
  TANGRAM_ASSIGN_OR_RETURN(LinkTable table,
                           ReadEntries(root, groups, assumptions));
  if (const auto field = root.Find("default_link")) {
    TANGRAM_RETURN_IF_ERROR(field->CheckKeys(LinkKeys()));
    TANGRAM_ASSIGN_OR_RETURN(const Link link,
                             ReadLink(*field, NetworkDefaults(), assumptions));
    for (std::vector<std::optional<Link>>& row : table) {
      for (std::optional<Link>& cell : row) cell = cell.value_or(link);
    }
  }
  AssumeRest(groups, table, assumptions);

  std::vector<std::vector<Link>> links(groups.size());
  for (size_t a = 0; a < groups.size(); ++a) {
    for (size_t b = 0; b < groups.size(); ++b) {
      links[a].push_back(a == b ? groups[a].inter_node : *table[a][b]);
    }
  }
  return links;
}

}  // namespace tangram
