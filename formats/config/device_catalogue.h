#ifndef TANGRAM_FORMATS_CONFIG_DEVICE_CATALOGUE_H_
#define TANGRAM_FORMATS_CONFIG_DEVICE_CATALOGUE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/config/device_list.h"

namespace tangram {

// Returns the built-in devices, formats/catalogue/devices.yaml, parsed on first
// use.
absl::Span<const CatalogueDevice> DeviceCatalogue();

// Returns the entry of that type or alias, ignoring case; null if there is
// none.
const CatalogueDevice* FindDevice(absl::string_view type);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_DEVICE_CATALOGUE_H_
