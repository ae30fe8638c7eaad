#include "formats/config/host_fields.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

struct HostField {
  absl::string_view key;
  Dimension dimension;
  double HostLink::*value;
};

constexpr HostField kHostFields[] = {
    {"bandwidth", Dimension::kBandwidth, &HostLink::bandwidth_bytes_per_s},
    {"memory", Dimension::kBytes, &HostLink::memory_bytes}};
constexpr absl::string_view kKeys[] = {kHostFields[0].key, kHostFields[1].key};

}  // namespace

absl::Span<const absl::string_view> HostKeys() { return kKeys; }

absl::StatusOr<HostLink> ReadHost(const ConfigField& field) {
  HostLink host;
  for (const HostField& part : kHostFields) {
    TANGRAM_ASSIGN_OR_RETURN(
        const ConfigField given,
        field.Require(part.key, ExpectedQuantity(part.dimension)));
    TANGRAM_ASSIGN_OR_RETURN(host.*part.value,
                             given.AsQuantity(part.dimension));
  }
  return host;
}

absl::StatusOr<HostLink> ReadOptionalHost(
    const ConfigField& device, const HostDefault& fallback,
    std::vector<Assumption>& assumptions) {
  const std::optional<ConfigField> mapping = device.Find("host");
  const std::string path = absl::StrCat(device.path(), ".host");
  HostLink host = fallback.host;
  const bool known = host != HostLink();
  if (!mapping.has_value()) {
    if (known) {
      assumptions.push_back({path, FormatHost(host), fallback.source});
    }
    return host;
  }
  TANGRAM_RETURN_IF_ERROR(mapping->CheckKeys(kKeys));
  for (const HostField& part : kHostFields) {
    if (const std::optional<ConfigField> given = mapping->Find(part.key)) {
      TANGRAM_ASSIGN_OR_RETURN(host.*part.value,
                               given->AsQuantity(part.dimension));
    } else if (!known) {
      return mapping->MissingError(part.key, ExpectedQuantity(part.dimension));
    } else {
      assumptions.push_back({absl::StrCat(path, ".", part.key),
                             FormatQuantity(host.*part.value, part.dimension),
                             fallback.source});
    }
  }
  return host;
}

std::string FormatHost(const HostLink& host) {
  if (host.bandwidth_bytes_per_s == 0) return "unknown";
  return absl::StrCat(
      FormatQuantity(host.bandwidth_bytes_per_s, Dimension::kBandwidth), ", ",
      FormatQuantity(host.memory_bytes, Dimension::kBytes));
}

}  // namespace tangram
