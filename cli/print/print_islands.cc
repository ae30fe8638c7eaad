#include "cli/print/print_islands.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/sim/stage_labels.h"

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

}  // namespace

void PrintIslandTable(const Cluster& cluster, absl::Span<const Island> islands,
                      absl::Span<const std::string> uses, Console& console) {
  Table table({{"#", Table::kRight},
               {"island"},
               {"nodes"},
               {"memory", Table::kRight},
               {"inside node", Table::kRight},
               {"between nodes", Table::kRight},
               {"used for"}});
  for (const Island& island : islands) {
    const IslandSpec& spec = island.spec;
    table.AddRow({absl::StrCat(island.id), island.name,
                  NodesLabel(cluster, island.nodes),
                  absl::StrCat(spec.num_gpus(), " x ",
                               FormatBytes(spec.device.memory_bytes)),
                  spec.gpus_per_node > 1
                      ? FormatBandwidth(spec.intra_node.bandwidth_bytes_per_s)
                      : "",
                  spec.num_nodes > 1
                      ? FormatBandwidth(spec.inter_node.bandwidth_bytes_per_s)
                      : "",
                  uses.empty() ? "" : uses[island.id]});
  }
  console.out << Styled(console, Style::kBold, "Islands") << "\n"
              << table.ToString();
}

void PrintIslandReasons(absl::Span<const Island> islands, Console& console) {
  for (const Island& island : islands) {
    if (island.reason.empty()) continue;
    console.out << WrapText(
        absl::StrCat(island.id, " ", island.name, ": ", island.reason),
        /*indent=*/2, kOutputWidth);
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
    console.out << WrapText(parts[i], /*indent=*/2, kOutputWidth);
  }
  if (count > limit) {
    console.out << "  ... and more for " << FormatItems(count - limit, "part")
                << " of the file: `tangram islands` lists them all\n";
  }
}

}  // namespace tangram
