#include "formats/config/device_catalogue.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "common/base/check.h"
#include "formats/catalogue/devices_yaml.h"

namespace tangram {
namespace {

std::vector<CatalogueDevice> ParseCatalogue() {
  absl::StatusOr<std::vector<CatalogueDevice>> devices =
      ParseDevices(DevicesYaml(), "devices.yaml");
  if (!devices.ok()) {
    std::fprintf(stderr, "%s\n", devices.status().ToString().c_str());
  }
  TANGRAM_CHECK(devices.ok());
  return *std::move(devices);
}

// The peak for which the general block states gemm_half_flops: an A100's.
constexpr double kGeneralPeak = 312e12;

DeviceEfficiency ParseGeneral() {
  const absl::StatusOr<DeviceEfficiency> general =
      ParseGeneralEfficiency(DevicesYaml(), "devices.yaml");
  TANGRAM_CHECK(general.ok());
  return *general;
}

}  // namespace

absl::Span<const CatalogueDevice> DeviceCatalogue() {
  // Never destroyed, so that other code may read it during exit.
  static const auto& catalogue =
      *new std::vector<CatalogueDevice>(ParseCatalogue());
  return catalogue;
}

const CatalogueDevice* FindDevice(absl::string_view type) {
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    const auto is_type = [type](const std::string& name) {
      return absl::EqualsIgnoreCase(name, type);
    };
    if (is_type(entry.device.type) || absl::c_any_of(entry.aliases, is_type)) {
      return &entry;
    }
  }
  return nullptr;
}

DeviceEfficiency GeneralEfficiency(const PeakFlops& peak) {
  static const auto& general = *new DeviceEfficiency(ParseGeneral());
  DeviceEfficiency efficiency = general;
  efficiency.gemm_half_flops *=
      std::max({peak.fp32, peak.fp16, peak.bf16}) / kGeneralPeak;
  return efficiency;
}

Link InterNodeLink(const CatalogueDevice& entry, int gpus_per_node) {
  Link link = entry.inter_node;
  const double share = std::min(1.0, 1.0 * gpus_per_node / entry.gpus_per_node);
  link.bandwidth_bytes_per_s = std::max(link.bandwidth_bytes_per_s * share,
                                        link.pair_bandwidth_bytes_per_s);
  return link;
}

}  // namespace tangram
