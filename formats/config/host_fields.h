#ifndef TANGRAM_FORMATS_CONFIG_HOST_FIELDS_H_
#define TANGRAM_FORMATS_CONFIG_HOST_FIELDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "formats/config/config_field.h"

namespace tangram {

// The keys of a host: bandwidth, memory.
absl::Span<const absl::string_view> HostKeys();

// A host of which both are given.
absl::StatusOr<HostLink> ReadHost(const ConfigField& field);

// What a host is where it is not described, and who says so; nothing if it is
// not known.
struct HostDefault {
  HostLink host;
  std::string source;
};

// The `host` of a device. What is left out is as in `fallback`, and appended to
// `assumptions`.
absl::StatusOr<HostLink> ReadOptionalHost(const ConfigField& device,
                                          const HostDefault& fallback,
                                          std::vector<Assumption>& assumptions);

// "12 GB/s, 128 GB"; "unknown" without a bandwidth.
std::string FormatHost(const HostLink& host);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HOST_FIELDS_H_
