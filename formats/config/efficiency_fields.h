#ifndef TANGRAM_FORMATS_CONFIG_EFFICIENCY_FIELDS_H_
#define TANGRAM_FORMATS_CONFIG_EFFICIENCY_FIELDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/device.h"
#include "formats/config/config_field.h"

namespace tangram {

// One constant of DeviceEfficiency as files spell it (docs/devices.md).
struct EfficiencyField {
  absl::string_view key;  // Key in files.
  double DeviceEfficiency::*value;
  std::optional<Dimension> dimension;  // Empty: a number from min to max.
  double min = 0;
  double max = 1;
};

// Returns all constants. Reading, printing and checking all iterate over these.
absl::Span<const EfficiencyField> EfficiencyFields();
std::vector<absl::string_view> EfficiencyKeys();
// Returns the keys of all constants, in the same order.

// Reads a constant and checks its range.
absl::StatusOr<double> ReadConstant(const ConfigField& field,
                                    const EfficiencyField& constant);

// Returns "0.74", "5 us", "1.1 GB".
std::string FormatConstant(double value, const EfficiencyField& constant);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_EFFICIENCY_FIELDS_H_
