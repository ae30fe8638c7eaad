#ifndef TANGRAM_COMMON_WIRE_SLICE_PLAN_WIRE_H_
#define TANGRAM_COMMON_WIRE_SLICE_PLAN_WIRE_H_

#include "absl/status/statusor.h"
#include "common/domain/slice_plan.h"
#include "common/domain/stage_plan.h"

namespace tangram::v1 {
class Infeasible;
class SlicePlanSet;
class StageParallelism;
class StagePlan;
}  // namespace tangram::v1

namespace tangram {

v1::StageParallelism ToProto(const StageParallelism& parallelism);
v1::StagePlan ToProto(const StagePlan& stage);
v1::Infeasible ToProto(const Infeasible& infeasible);
v1::SlicePlanSet ToProto(const SlicePlanSet& set);

absl::StatusOr<StageParallelism> FromProto(const v1::StageParallelism& message);
absl::StatusOr<StagePlan> FromProto(const v1::StagePlan& message);
absl::StatusOr<Infeasible> FromProto(const v1::Infeasible& message);
absl::StatusOr<SlicePlanSet> FromProto(const v1::SlicePlanSet& message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_SLICE_PLAN_WIRE_H_
