#ifndef TANGRAM_FORMATS_CONFIG_DEVICE_FIELDS_H_
#define TANGRAM_FORMATS_CONFIG_DEVICE_FIELDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "formats/config/config_field.h"
#include "formats/config/device_list.h"

namespace tangram {

// The keys of a group that ReadDevice reads.
absl::Span<const absl::string_view> DeviceKeys();

// Reads the GPU type `type` as `fields` describe it. Values that they leave out
// come from `known` and are appended to `assumptions`. Without a catalogue
// entry (`known` is null), peak_tflops, memory and memory_bandwidth are
// required.
absl::StatusOr<DeviceSpec> ReadDevice(const ConfigField& fields,
                                      const std::string& type,
                                      const CatalogueDevice* known,
                                      std::vector<Assumption>& assumptions);

// Reads the device without the efficiency constants and the host.
absl::StatusOr<DeviceSpec> ReadDatasheet(const ConfigField& fields,
                                         const std::string& type,
                                         const CatalogueDevice* known,
                                         std::vector<Assumption>& assumptions);

// Returns "catalogue: T4".
std::string CatalogueSource(const CatalogueDevice& known);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_DEVICE_FIELDS_H_
