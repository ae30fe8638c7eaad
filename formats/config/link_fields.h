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

enum class LinkPlace { kIntraNode, kInterNode };

// Where the parts of a link come from that a file leaves out.
struct LinkDefaults {
  LinkPlace place = LinkPlace::kInterNode;
  Link link;
  std::string source;  // "catalogue: T4"
};

// What stands in for a link that neither the file nor the catalogue knows:
// PCIe 3.0 x16 as NCCL measures it, and 10 Gbit/s Ethernet.
LinkDefaults GeneralLinkDefaults(LinkPlace place);

// The keys that ReadLink reads.
absl::Span<const absl::string_view> LinkKeys();

// A link from {bandwidth, pair_bandwidth, latency}. bandwidth must be given;
// pair_bandwidth is the same if it is not, latency is that of `defaults`. What
// was not given is appended to `assumptions`. Does not check the keys.
absl::StatusOr<Link> ReadLink(const ConfigField& field,
                              const LinkDefaults& defaults,
                              std::vector<Assumption>& assumptions);

// ReadLink of the optional mapping `key` of `parent`; the whole of `defaults`
// where it is not given.
absl::StatusOr<Link> ReadOptionalLink(const ConfigField& parent,
                                      absl::string_view key,
                                      const LinkDefaults& defaults,
                                      std::vector<Assumption>& assumptions);

// "5.9 GB/s, pair 6.0 GB/s, 10 us".
std::string FormatLink(const Link& link);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_LINK_FIELDS_H_
