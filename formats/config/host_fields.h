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

// Returns the keys of a host: bandwidth, memory.
absl::Span<const absl::string_view> HostKeys();

// Reads a host; both keys are required.
absl::StatusOr<HostLink> ReadHost(const ConfigField& field);

// The host of a device that describes none, and the source of that value. A
// default-constructed `host` means that none is known.
struct HostDefault {
  HostLink host;
  std::string source;
};

// Reads the `host` of a device. Missing values come from `fallback` and are
// appended to `assumptions`.
absl::StatusOr<HostLink> ReadOptionalHost(const ConfigField& device,
                                          const HostDefault& fallback,
                                          std::vector<Assumption>& assumptions);

// Returns "12 GB/s, 128 GB"; "unknown" without a bandwidth.
std::string FormatHost(const HostLink& host);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HOST_FIELDS_H_
