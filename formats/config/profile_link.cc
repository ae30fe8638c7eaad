#include "common/base/status_macros.h"
#include "common/domain/figure_limits.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/profile_entry.h"

namespace tangram {
namespace {

// Catches wrong units: latencies are microseconds to milliseconds.
constexpr double kMaxProfiledLatencyS = 10;

absl::StatusOr<double> ReadBandwidth(const ConfigField& field) {
  return field.AsNumber(1, kMaxBandwidthBytesPerS);
}

}  // namespace

absl::StatusOr<ProfileLink> ReadProfiledLink(const ConfigField& field) {
  TANGRAM_RETURN_IF_ERROR(
      field.CheckKeys({"to", "bandwidth_bytes_per_s",
                       "pair_bandwidth_bytes_per_s", "latency_s"}));
  ProfileLink measured;
  TANGRAM_ASSIGN_OR_RETURN(
      measured.to, ReadOr(field, "to", std::string(),
                          [](const ConfigField& f) { return f.AsText(); }));
  if (const CatalogueDevice* known = FindDevice(measured.to)) {
    measured.to = known->device.type;
  }
  Link& link = measured.link;
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField bandwidth,
      field.Require("bandwidth_bytes_per_s", "a positive number"));
  TANGRAM_ASSIGN_OR_RETURN(link.bandwidth_bytes_per_s,
                           ReadBandwidth(bandwidth));
  TANGRAM_ASSIGN_OR_RETURN(link.pair_bandwidth_bytes_per_s,
                           ReadOr(field, "pair_bandwidth_bytes_per_s",
                                  link.bandwidth_bytes_per_s, ReadBandwidth));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField latency,
                           field.Require("latency_s", "a number of seconds"));
  TANGRAM_ASSIGN_OR_RETURN(link.latency_s,
                           latency.AsNumber(0, kMaxProfiledLatencyS));
  return measured;
}

}  // namespace tangram
