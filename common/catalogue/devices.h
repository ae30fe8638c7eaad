#ifndef TANGRAM_COMMON_CATALOGUE_DEVICES_H_
#define TANGRAM_COMMON_CATALOGUE_DEVICES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"

namespace tangram {

// A GPU type as shipped: datasheet peaks, efficiency constants and what its
// nodes usually look like. Constants are data, see devices.cc; each entry says
// where it is from.
struct CatalogueDevice {
  DeviceSpec device;
  std::vector<std::string>
      aliases;  // "A100-SXM4-80GB", compared ignoring case.
  int gpus_per_node = 8;
  Link intra_node;
  Link inter_node;
  std::string source;
};

absl::Span<const CatalogueDevice> DeviceCatalogue();

// The entry of that type or alias, ignoring case; null if there is none.
const CatalogueDevice* FindDevice(absl::string_view type);

}  // namespace tangram

#endif  // TANGRAM_COMMON_CATALOGUE_DEVICES_H_
