#ifndef TANGRAM_COMMON_WIRE_TRAINING_WIRE_H_
#define TANGRAM_COMMON_WIRE_TRAINING_WIRE_H_

#include "absl/status/statusor.h"
#include "common/domain/training_options.h"

namespace tangram::v1 {
class TrainingOptions;
}  // namespace tangram::v1

namespace tangram {

v1::TrainingOptions ToProto(const TrainingOptions& training);
absl::StatusOr<TrainingOptions> FromProto(const v1::TrainingOptions& message);

// The number of a precision in messages (TrainingOptions.Precision), and back.
int PrecisionToWire(Precision precision);
absl::StatusOr<Precision> PrecisionFromWire(int precision);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_TRAINING_WIRE_H_
