#ifndef TANGRAM_COMMON_WIRE_MIXED_STAGE_WIRE_H_
#define TANGRAM_COMMON_WIRE_MIXED_STAGE_WIRE_H_

#include "absl/status/statusor.h"
#include "common/domain/mixed_stage.h"

namespace tangram::v1 {
class MixedReplicas;
}  // namespace tangram::v1

namespace tangram {

v1::MixedReplicas ToProto(const MixedReplicas& mixed);

// Checks that every field makes sense alone. ValidatePlan checks whether the
// groups can share the stage.
absl::StatusOr<MixedReplicas> FromProto(const v1::MixedReplicas& message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_MIXED_STAGE_WIRE_H_
