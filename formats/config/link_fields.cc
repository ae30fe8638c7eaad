#include "formats/config/link_fields.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

constexpr absl::string_view kLinkKeys[] = {"bandwidth", "pair_bandwidth",
                                           "latency"};
// PCIe 3.0 x16: pairs without NVLink reach 10.6 GB/s (Sailor's profiles,
// formats/catalogue/devices.yaml) to 11. 10 us: 8 to 15 us in the catalogue.
constexpr Link kGeneralIntraNode = {.bandwidth_bytes_per_s = 11e9,
                                    .pair_bandwidth_bytes_per_s = 11e9,
                                    .latency_s = 10e-6};
// 10 Gbit/s Ethernet, the slowest network of a cloud's GPU nodes.
constexpr Link kGeneralInterNode = {.bandwidth_bytes_per_s = 1.25e9,
                                    .pair_bandwidth_bytes_per_s = 1.25e9,
                                    .latency_s = kTcpLatencyS};

// From here on, GPUs are built for servers with a fabric: A100 to B300, MI300X,
// Gaudi. Nearly all cards have less, and one or two such GPUs in a node are
// cards as well (A100-PCIe, H100 NVL).
constexpr double kServerBandwidth = 1.5e12;
constexpr double kServerPeak = 300e12;
constexpr int kLeastGpusOnFabric = 4;
// Rate of collectives on the fabric, as a share of memory bandwidth: 0.15 on
// A100-40, 0.11 on A100-80 and H100, 0.09 on B200 and H20, 0.06 on MI300X.
constexpr double kFabricShare = 0.11;
// Such servers have a network card for each GPU: 0.1 of the fabric on A100,
// 0.12 on H100.
constexpr double kNetworkShare = 0.1;
// As on A100 and H100 in formats/catalogue/devices.yaml.
constexpr double kFabricLatencyS = 10e-6;

bool IsForServers(const DeviceSpec& device, int gpus_per_node) {
  return gpus_per_node >= kLeastGpusOnFabric &&
         device.memory_bandwidth_bytes_per_s >= kServerBandwidth &&
         std::max(device.peak_flops.fp16, device.peak_flops.bf16) >=
             kServerPeak;
}

}  // namespace

LinkDefaults GeneralLinkDefaults(LinkPlace place) {
  return place == LinkPlace::kIntraNode
             ? LinkDefaults{place, kGeneralIntraNode,
                            "general default: PCIe 3.0 x16"}
             : LinkDefaults{place, kGeneralInterNode,
                            "general default: 10 Gbit/s Ethernet"};
}

LinkDefaults LinkDefaultsOf(const DeviceSpec& device, int gpus_per_node,
                            LinkPlace place) {
  if (!IsForServers(device, gpus_per_node)) return GeneralLinkDefaults(place);
  const double fabric = kFabricShare * device.memory_bandwidth_bytes_per_s;
  if (place == LinkPlace::kIntraNode) {
    return {place,
            {.bandwidth_bytes_per_s = fabric,
             .pair_bandwidth_bytes_per_s = fabric,
             .latency_s = kFabricLatencyS},
            "assumed: the fabric of a server whose GPUs have such memory"};
  }
  const double card = kNetworkShare * fabric;
  return {place,
          {.bandwidth_bytes_per_s = gpus_per_node * card,
           .pair_bandwidth_bytes_per_s = card,
           .latency_s = kRdmaLatencyS},
          "assumed: a network card for each GPU, as in such servers"};
}

absl::Span<const absl::string_view> LinkKeys() { return kLinkKeys; }

absl::StatusOr<Link> ReadLink(const ConfigField& field,
                              const LinkDefaults& defaults,
                              std::vector<Assumption>& assumptions) {
  Link link;
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField bandwidth,
      field.Require("bandwidth", ExpectedQuantity(Dimension::kBandwidth)));
  TANGRAM_ASSIGN_OR_RETURN(link.bandwidth_bytes_per_s,
                           bandwidth.AsQuantity(Dimension::kBandwidth));
  if (const std::optional<ConfigField> pair = field.Find("pair_bandwidth")) {
    TANGRAM_ASSIGN_OR_RETURN(link.pair_bandwidth_bytes_per_s,
                             pair->AsQuantity(Dimension::kBandwidth));
    if (defaults.place == LinkPlace::kInterNode &&
        link.pair_bandwidth_bytes_per_s > link.bandwidth_bytes_per_s) {
      return pair->Error(absl::StrCat(
          "at most the bandwidth of the whole node, ",
          FormatQuantity(link.bandwidth_bytes_per_s, Dimension::kBandwidth)));
    }
  } else {
    link.pair_bandwidth_bytes_per_s = link.bandwidth_bytes_per_s;
    assumptions.push_back(
        {absl::StrCat(field.path(), ".pair_bandwidth"),
         FormatQuantity(link.bandwidth_bytes_per_s, Dimension::kBandwidth),
         "same as bandwidth"});
  }
  if (const std::optional<ConfigField> latency = field.Find("latency")) {
    TANGRAM_ASSIGN_OR_RETURN(link.latency_s,
                             latency->AsQuantity(Dimension::kSeconds));
  } else {
    link.latency_s = defaults.link.latency_s;
    assumptions.push_back({absl::StrCat(field.path(), ".latency"),
                           FormatQuantity(link.latency_s, Dimension::kSeconds),
                           defaults.source});
  }
  return link;
}

absl::StatusOr<Link> ReadOptionalLink(const ConfigField& parent,
                                      absl::string_view key,
                                      const LinkDefaults& defaults,
                                      std::vector<Assumption>& assumptions) {
  const std::optional<ConfigField> field = parent.Find(key);
  if (field.has_value()) {
    TANGRAM_RETURN_IF_ERROR(field->CheckKeys(kLinkKeys));
    return ReadLink(*field, defaults, assumptions);
  }
  assumptions.push_back({absl::StrCat(parent.path(), ".", key),
                         FormatLink(defaults.link), defaults.source});
  return defaults.link;
}

std::string FormatLink(const Link& link) {
  return absl::StrCat(
      FormatQuantity(link.bandwidth_bytes_per_s, Dimension::kBandwidth),
      ", pair ",
      FormatQuantity(link.pair_bandwidth_bytes_per_s, Dimension::kBandwidth),
      ", ", FormatQuantity(link.latency_s, Dimension::kSeconds));
}

}  // namespace tangram
