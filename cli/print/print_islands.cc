#include "cli/print/print_islands.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/sim/stage_labels.h"
#include "formats/config/memory_margin.h"

namespace tangram {
namespace {

// Returns sentences such as "groups[0] (catalogue: T4): memory 15.8 GB, ...".
// Consecutive assumptions of one part and one source share a sentence.
std::vector<std::string> AssumptionsByPart(const Cluster& cluster) {
  std::vector<std::string> sentences;
  std::string last_opening;
  for (const Assumption& assumption : cluster.assumptions) {
    // Names of groups in brackets may have dots.
    const size_t bracket = assumption.field.find(']');
    const size_t dot =
        assumption.field.find('.', bracket == std::string::npos ? 0 : bracket);
    const std::string part = assumption.field.substr(0, dot);
    const std::string field =
        dot == std::string::npos ? "" : assumption.field.substr(dot + 1);
    const std::string opening =
        absl::StrCat(part, " (", assumption.source, "): ");
    if (opening != last_opening) {
      sentences.push_back(opening);
      last_opening = opening;
    } else {
      sentences.back() += ", ";
    }
    absl::StrAppend(&sentences.back(), field, " ", assumption.value);
  }
  return sentences;
}

// Equal islands of which a plan uses all or none.
struct EqualIslands {
  const Island* first = nullptr;
  std::set<int> ids;
  std::vector<int> nodes;
  std::set<int> used;  // Numbers of stages or pipelines.
};

bool AreEqual(const Island& a, const Island& b) {
  return a.name == b.name && a.spec == b.spec;
}

std::vector<EqualIslands> GroupsOf(absl::Span<const Island> islands,
                                   const IslandUses& uses) {
  std::vector<EqualIslands> groups;
  for (const Island& island : islands) {
    const std::set<int> used =
        uses.what.empty() ? std::set<int>() : uses.used[island.id];
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const EqualIslands& other) {
                                return AreEqual(*other.first, island) &&
                                       other.used.empty() == used.empty();
                              });
    if (group == groups.end()) {
      group = groups.insert(group, {.first = &island});
    }
    group->ids.insert(island.id);
    group->nodes.insert(group->nodes.end(), island.nodes.begin(),
                        island.nodes.end());
    group->used.insert(used.begin(), used.end());
  }
  return groups;
}

// Returns "left out", "stage 3" or "stages 0-2".
std::string UseLabel(const EqualIslands& group, const IslandUses& uses) {
  if (uses.what.empty()) return "";
  if (group.used.empty()) return "left out";
  return absl::StrCat(uses.what, group.used.size() == 1 ? " " : "s ",
                      RangesLabel(group.used));
}

}  // namespace

void PrintIslandTable(const Cluster& cluster, absl::Span<const Island> islands,
                      const IslandUses& uses, Console& console) {
  const double margin = MemoryMarginOf(cluster);
  Table table({{"#", Table::kRight},
               {"island"},
               {.title = "nodes", .is_elastic = true},
               {"memory", Table::kRight},
               {"usable", Table::kRight, /*drop=*/1},
               {"in a node", Table::kRight},
               {"between", Table::kRight},
               {"used for"}});
  for (const EqualIslands& group : GroupsOf(islands, uses)) {
    const IslandSpec& spec = group.first->spec;
    const double usable = spec.device.memory_bytes;
    const size_t count = group.ids.size();
    table.AddRow({RangesLabel(group.ids),
                  count == 1
                      ? group.first->name
                      : absl::StrCat(count, " times ", group.first->name),
                  NodesLabel(cluster, group.nodes),
                  absl::StrCat(spec.num_gpus(), " x ",
                               FormatBytes(usable / (1 - margin))),
                  margin > 0 ? FormatBytes(usable) : "",
                  spec.gpus_per_node > 1
                      ? FormatBandwidth(spec.intra_node.bandwidth_bytes_per_s)
                      : "",
                  spec.num_nodes > 1
                      ? FormatBandwidth(spec.inter_node.bandwidth_bytes_per_s)
                      : "",
                  UseLabel(group, uses)});
  }
  console.out << Styled(console, Style::kBold, "Islands") << "\n"
              << table.ToString(console.width);
}

void PrintIslandReasons(absl::Span<const Island> islands, Console& console) {
  for (const Island& island : islands) {
    if (island.reason.empty()) continue;
    console.out << WrapText(
        absl::StrCat(island.id, " ", island.name, ": ", island.reason),
        /*indent=*/2, console.width);
  }
}

void PrintAssumptions(const Cluster& cluster, int limit, Console& console) {
  const std::vector<std::string> parts = AssumptionsByPart(cluster);
  if (parts.empty()) return;
  const int count = static_cast<int>(parts.size());
  console.out << "\n"
              << Styled(console, Style::kBold,
                        "Assumed, as the cluster file does not say")
              << "\n";
  for (int i = 0; i < std::min(limit, count); ++i) {
    console.out << WrapText(parts[i], /*indent=*/2, console.width);
  }
  if (count > limit) {
    console.out << "  ... and more for " << FormatItems(count - limit, "part")
                << " of the file: `tangram islands` lists them all\n";
  }
}

}  // namespace tangram
