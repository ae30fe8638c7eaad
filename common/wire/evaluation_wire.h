#ifndef TANGRAM_COMMON_WIRE_EVALUATION_WIRE_H_
#define TANGRAM_COMMON_WIRE_EVALUATION_WIRE_H_

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "common/sim/evaluate_plan.h"

namespace tangram::v1 {
class Evaluation;
class PlanningStats;
}  // namespace tangram::v1

namespace tangram {

v1::Evaluation ToProto(const Evaluation& evaluation);
v1::PlanningStats ToProto(const PlanningStats& stats);

// Refuses numbers that are not finite. Makes no other checks, because nothing
// else depends on these values.
absl::StatusOr<Evaluation> FromProto(const v1::Evaluation& message);
PlanningStats FromProto(const v1::PlanningStats& message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_EVALUATION_WIRE_H_
