#include "formats/config/device_catalogue.h"

#include <algorithm>
#include <cmath>
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

// The GPU for which the general block states its constants: an A100.
constexpr double kGeneralPeak = 312e12;
constexpr double kGeneralBandwidth = 2.04e12;
// Faster GPUs reach less of their datasheets: power limits products, and
// element-wise kernels are too short to fill a wide memory, which slower ones
// nearly fill. The exponents follow the measured GPUs of the catalogue, from
// the A10G with 70 TFLOP/s and 0.6 TB/s over the A100 and the H100 to the B200
// with 2250 TFLOP/s and 8 TB/s.
constexpr double kMaxExponent = -0.11;
constexpr double kSlowMemoryExponent = -0.1;
constexpr double kFastMemoryExponent = -0.47;
// The largest and smallest fractions among them.
constexpr double kLargestGemmFraction = 0.9;
constexpr double kLeastMemoryFraction = 0.52;
constexpr double kLargestMemoryFraction = 0.75;

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

DeviceEfficiency GeneralEfficiency(const PeakFlops& peak,
                                   double memory_bandwidth_bytes_per_s) {
  static const auto& general = *new DeviceEfficiency(ParseGeneral());
  DeviceEfficiency efficiency = general;
  const double faster =
      std::max({peak.fp32, peak.fp16, peak.bf16}) / kGeneralPeak;
  const double wider = memory_bandwidth_bytes_per_s / kGeneralBandwidth;
  efficiency.gemm_half_flops *= faster;
  efficiency.gemm_max_fraction =
      std::min(kLargestGemmFraction,
               efficiency.gemm_max_fraction * std::pow(faster, kMaxExponent));
  efficiency.memory_fraction =
      std::clamp(efficiency.memory_fraction *
                     std::pow(wider, wider > 1 ? kFastMemoryExponent
                                               : kSlowMemoryExponent),
                 kLeastMemoryFraction, kLargestMemoryFraction);
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
