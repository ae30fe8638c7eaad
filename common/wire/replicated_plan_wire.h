#ifndef TANGRAM_COMMON_WIRE_REPLICATED_PLAN_WIRE_H_
#define TANGRAM_COMMON_WIRE_REPLICATED_PLAN_WIRE_H_

#include "absl/status/statusor.h"
#include "common/domain/replicated_plan.h"
#include "common/sim/evaluate_replicated_plan.h"

namespace tangram::v1 {
class ReplicatedEvaluation;
class ReplicatedPlan;
}  // namespace tangram::v1

namespace tangram {

v1::ReplicatedPlan ToProto(const ReplicatedPlan& plan, const Cluster& cluster,
                           const ModelSpec& model);
v1::ReplicatedEvaluation ToProto(const ReplicatedEvaluation& evaluation);

// Checks that every field makes sense alone and that nodes are known.
// ValidateReplicatedPlan checks whether the plan can run.
absl::StatusOr<ReplicatedPlan> FromProto(const v1::ReplicatedPlan& message,
                                         const Cluster& cluster);
absl::StatusOr<ReplicatedEvaluation> FromProto(
    const v1::ReplicatedEvaluation& message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_REPLICATED_PLAN_WIRE_H_
