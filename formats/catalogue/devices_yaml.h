#ifndef TANGRAM_FORMATS_CATALOGUE_DEVICES_YAML_H_
#define TANGRAM_FORMATS_CATALOGUE_DEVICES_YAML_H_

#include "absl/strings/string_view.h"

namespace tangram {

// Returns the text of devices.yaml, which the build puts into the library.
// formats/config/device_catalogue.h parses it.
absl::string_view DevicesYaml();

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CATALOGUE_DEVICES_YAML_H_
