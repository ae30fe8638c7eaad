#include "formats/config/device_catalogue.h"

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

}  // namespace tangram
