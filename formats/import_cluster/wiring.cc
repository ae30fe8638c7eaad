#include "formats/import_cluster/wiring.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/config/link_fields.h"
#include "formats/config/units.h"
#include "formats/import_cluster/find_groups.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

// NVLink 2 to 4 have 25 GB/s a link and direction (NVIDIA V100, A100 and H100
// whitepapers). 84 % of that is achieved: 42 GB/s over two links of a V100
// (Aceso's profiles).
constexpr double kNvLinkRate = 0.84 * 25e9;
// An H100 has 18 links. A row whose sum is larger belongs to a switch.
constexpr int kMostNvLinks = 18;
// PCIe 5.0 x16 stays below this rate, in bytes/s.
constexpr double kFasterThanPcie = 60e9;
// The general default is PCIe 3.0 x16. A generation doubles the rate, and so
// does twice the lanes.
constexpr int kBaseGeneration = 3;
constexpr int kBaseLanes = 16;

// Number of GPUs that this GPU reaches by NVLink.
int NumPeers(const std::vector<int>& row) {
  return static_cast<int>(absl::c_count_if(row, [](int n) { return n > 0; }));
}

// Number of NVLinks of this GPU. Behind a switch each cell shows all links, so
// it is the largest cell and not the sum.
int NumLinks(const std::vector<int>& row) {
  const int sum = std::accumulate(row.begin(), row.end(), 0);
  return sum <= kMostNvLinks ? sum : *absl::c_max_element(row);
}

// Bandwidth of PCIe in bytes/s, from that of 3.0 x16 as NCCL measures it:
//   base · 2^(generation − 3) · lanes / 16
double PcieRate(const DraftGroup& group) {
  const double base =
      GeneralLinkDefaults(LinkPlace::kIntraNode).link.bandwidth_bytes_per_s;
  const int generation =
      group.pcie_generation > 0 ? group.pcie_generation : kBaseGeneration;
  const int lanes = group.pcie_lanes > 0 ? group.pcie_lanes : kBaseLanes;
  return std::ldexp(base, generation - kBaseGeneration) * lanes / kBaseLanes;
}

// Bandwidths in bytes/s of a collective over all GPUs and of one pair.
struct Rates {
  double all = 0;
  double pair = 0;
};

// A pair has its fewest NVLinks, a collective the fewest links of any GPU. With
// bridges a collective also crosses PCIe.
Rates RatesOf(const GpuTopology& topology, Wiring wiring,
              const DraftGroup& group) {
  Rates rates{PcieRate(group), PcieRate(group)};
  if (wiring == Wiring::kPcie) return rates;
  int fewest_to_peer = kMostNvLinks;
  int fewest_in_all = kMostNvLinks;
  for (const std::vector<int>& row : topology.nvlinks) {
    fewest_in_all = std::min(fewest_in_all, NumLinks(row));
    for (const int links : row) {
      if (links > 0) fewest_to_peer = std::min(fewest_to_peer, links);
    }
  }
  rates.pair = fewest_to_peer * kNvLinkRate;
  if (wiring == Wiring::kNvLink) rates.all = fewest_in_all * kNvLinkRate;
  return rates;
}

std::string Describe(const GpuTopology& topology, Wiring wiring) {
  switch (wiring) {
    case Wiring::kPcie:
      return "no NVLink";
    case Wiring::kBridges:
      return "NVLink between pairs of GPUs alone";
    case Wiring::kNvLink:
      return topology.AllPairsHaveNvLink() ? "NVLink between all GPUs"
                                           : "a mesh of NVLinks";
  }
  return "";
}

// Sets the group's intra_node link unless the catalogue assumes the same
// wiring.
void SetLink(const ScopedTopology& scoped, DraftGroup& group,
             std::vector<std::string>& notes) {
  const GpuTopology& topology = scoped.topology;
  const std::string source = Shown(scoped.source);
  // As in a container with one GPU of a node.
  if (topology.num_gpus < 2 && group.num_gpus > 1) {
    notes.push_back(
        absl::StrCat(source, " shows 1 GPU, and so no links of ", group.name));
    return;
  }
  const Wiring wiring = WiringOf(topology);
  const std::string shows = absl::StrCat(source, ": ", group.name, " has ",
                                         Describe(topology, wiring));
  if (topology.num_gpus != group.num_gpus) {
    notes.push_back(absl::StrCat(source, " shows ", topology.num_gpus,
                                 " GPUs, and ", group.name, " has ",
                                 group.num_gpus, " a node"));
  }
  if (group.device != nullptr && WiringOf(group.device->intra_node) == wiring) {
    notes.push_back(absl::StrCat(shows, ", as the catalogue assumes"));
    return;
  }
  notes.push_back(absl::StrCat(
      shows, group.device == nullptr ? "" : ", unlike the catalogue"));
  const Rates rates = RatesOf(topology, wiring, group);
  const std::string why = absl::StrCat("assumed: worked out from ", source,
                                       ", ", Describe(topology, wiring));
  const auto set = [&](absl::string_view key, double rate) {
    SetField(
        {std::string(key), FormatQuantity(rate, Dimension::kBandwidth), why},
        group.intra_node);
  };
  set("bandwidth", rates.all);
  set("pair_bandwidth", rates.pair);
}

}  // namespace

Wiring WiringOf(const GpuTopology& topology) {
  if (!topology.HasNvLink()) return Wiring::kPcie;
  const bool is_mesh = absl::c_all_of(
      topology.nvlinks, [&topology](const std::vector<int>& row) {
        return NumPeers(row) >= std::min(2, topology.num_gpus - 1);
      });
  return is_mesh ? Wiring::kNvLink : Wiring::kBridges;
}

Wiring WiringOf(const Link& intra_node) {
  if (intra_node.bandwidth_bytes_per_s > kFasterThanPcie) {
    return Wiring::kNvLink;
  }
  return intra_node.pair_bandwidth_bytes_per_s > kFasterThanPcie
             ? Wiring::kBridges
             : Wiring::kPcie;
}

absl::Status SetWiring(absl::Span<const ScopedTopology> topologies,
                       ClusterDraft& draft) {
  for (const ScopedTopology& scoped : topologies) {
    absl::StatusOr<std::vector<int>> groups = std::vector<int>{0};
    if (!scoped.scope.empty()) {
      groups = FindGroups(scoped.scope, draft);
    } else if (draft.groups.size() != 1) {
      groups = absl::InvalidArgumentError(
          "does not say of which node it is; expected NODE=FILE, such as "
          "node1=FILE");
    }
    if (IsOfOtherNodes(groups.status(), scoped.source, draft)) continue;
    if (!groups.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(scoped.source, ": ", groups.status().message()));
    }
    for (const int group : *groups) {
      SetLink(scoped, draft.groups[group], draft.notes);
    }
  }
  return absl::OkStatus();
}

}  // namespace tangram
