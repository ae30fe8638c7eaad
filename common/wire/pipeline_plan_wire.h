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

// Nodes travel by name, GPUs as runs. `model` gives operators their names for
// people, and is not needed to read them back.
v1::PipelinePlan ToProto(const PipelinePlan& plan, const Cluster& cluster,
                         const ModelSpec& model);

// Checks that every field makes sense alone and that nodes are known. Whether
// the plan can be run is ValidatePlan's.
absl::StatusOr<PipelinePlan> FromProto(const v1::PipelinePlan& message,
                                       const Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_PIPELINE_PLAN_WIRE_H_
