#ifndef TANGRAM_FORMATS_CONFIG_LINK_FIELDS_H_
#define TANGRAM_FORMATS_CONFIG_LINK_FIELDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "formats/config/config_field.h"

namespace tangram {

// Where a link is: inside a node or between nodes.
enum class LinkPlace { kIntraNode, kInterNode };

// The values of a link that a file leaves out, and their source.
struct LinkDefaults {
  LinkPlace place = LinkPlace::kInterNode;
  Link link;
  std::string source;  // "catalogue: T4"
};

// Latencies of networks, as in formats/catalogue/devices.yaml.
inline constexpr double kRdmaLatencyS = 20e-6;  // InfiniBand or RoCE.
inline constexpr double kTcpLatencyS = 50e-6;   // Ethernet.

// Returns the fallback for a link that neither the file nor the catalogue
// describes: PCIe 3.0 x16 as NCCL measures it, or 10 Gbit/s Ethernet.
LinkDefaults GeneralLinkDefaults(LinkPlace place);

// Returns the fallback for a link of a GPU that the catalogue lacks. The
// datasheet of a server's GPU tells of its fabric: vendors match it to the
// memory. Others have the general fallback.
LinkDefaults LinkDefaultsOf(const DeviceSpec& device, int gpus_per_node,
                            LinkPlace place);

// Returns the keys that ReadLink reads.
absl::Span<const absl::string_view> LinkKeys();

// Reads a link from {bandwidth, pair_bandwidth, latency}. `bandwidth` is
// required. `pair_bandwidth` defaults to it, and `latency` to that of
// `defaults`. Values that were not given are appended to `assumptions`. Does
// not check for unknown keys.
absl::StatusOr<Link> ReadLink(const ConfigField& field,
                              const LinkDefaults& defaults,
                              std::vector<Assumption>& assumptions);

// Reads the optional mapping `key` of `parent`, and checks its keys. Returns
// all of `defaults` if it is not given.
absl::StatusOr<Link> ReadOptionalLink(const ConfigField& parent,
                                      absl::string_view key,
                                      const LinkDefaults& defaults,
                                      std::vector<Assumption>& assumptions);

// Returns "5.9 GB/s, pair 6.0 GB/s, 10 us".
std::string FormatLink(const Link& link);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_LINK_FIELDS_H_
