#ifndef TANGRAM_FORMATS_CATALOGUE_DEVICE_POWER_H_
#define TANGRAM_FORMATS_CATALOGUE_DEVICE_POWER_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace tangram {

// Power of one GPU in watts.
struct DevicePower {
  double idle_w = 0;
  double busy_w = 0;
};

// Returns the power of a device of the catalogue, by its type (not an alias).
// Busy: the board power of the vendor's datasheet; GB200 and GB300 count a
// GPU alone. Idle: assumed an eighth of it, as no datasheet says. Empty: not
// known.
std::optional<DevicePower> FindDevicePower(absl::string_view type);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CATALOGUE_DEVICE_POWER_H_
