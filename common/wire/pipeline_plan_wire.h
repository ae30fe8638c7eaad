#ifndef TANGRAM_COMMON_WIRE_PIPELINE_PLAN_WIRE_H_
#define TANGRAM_COMMON_WIRE_PIPELINE_PLAN_WIRE_H_

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

namespace tangram::v1 {
class PipelinePlan;
}  // namespace tangram::v1

namespace tangram {

// Encodes nodes by name and GPUs as runs. `model` supplies the names of
// operators for people, which reading ignores.
v1::PipelinePlan ToProto(const PipelinePlan& plan, const Cluster& cluster,
                         const ModelSpec& model);

// Checks that every field makes sense alone and that nodes are known.
// ValidatePlan checks whether the plan can run.
absl::StatusOr<PipelinePlan> FromProto(const v1::PipelinePlan& message,
                                       const Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_PIPELINE_PLAN_WIRE_H_
