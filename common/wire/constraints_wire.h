#ifndef TANGRAM_COMMON_WIRE_CONSTRAINTS_WIRE_H_
#define TANGRAM_COMMON_WIRE_CONSTRAINTS_WIRE_H_

#include "absl/status/statusor.h"
#include "common/planner/plan_constraints.h"

namespace tangram::v1 {
class PlanConstraints;
}  // namespace tangram::v1

namespace tangram {

v1::PlanConstraints ToProto(const PlanConstraints& constraints);

// Does not check that the islands and layers exist; the planner does.
absl::StatusOr<PlanConstraints> FromProto(const v1::PlanConstraints& message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_CONSTRAINTS_WIRE_H_
