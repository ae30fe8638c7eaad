#ifndef TANGRAM_COMMON_WIRE_MEASUREMENTS_WIRE_H_
#define TANGRAM_COMMON_WIRE_MEASUREMENTS_WIRE_H_

#include "absl/status/status.h"
#include "common/domain/device.h"
#include "tangram/v1/cluster.pb.h"

namespace tangram {

// Convert the measured layers and collectives of a device.
void MeasurementsToProto(const DeviceSpec& device, v1::DeviceSpec& message);
absl::Status MeasurementsFromProto(const v1::DeviceSpec& message,
                                   DeviceSpec& device);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_MEASUREMENTS_WIRE_H_
