#include "frameworks/equal_stages.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "frameworks/lower_plan.h"

namespace tangram {
namespace {

absl::Status CheckSizes(const PipelinePlan& plan) {
  const size_t size = plan.stages.front().gpus.size();
  for (int i = 1; i < plan.num_stages(); ++i) {
    const size_t other = plan.stages[i].gpus.size();
    if (other == size) continue;
    return FieldError(
        absl::StrCat("stages[", i, "].gpus"), absl::StrCat(other, " GPUs"),
        absl::StrCat(
            size,
            " as in the first stage: one mesh of degrees covers all stages"));
  }
  return absl::OkStatus();
}

// Returns degrees and settings for all stages: those of the stage with the
// highest tp, with sequence parallelism and ZeRO 1 if any stage has them.
StageParallelism CommonParallelism(const ModelSpec& model,
                                   const PipelinePlan& plan) {
  const PipelinePlan canonical = CanonicalPlan(model, plan);
  StageParallelism common = canonical.stages.front().plan.parallelism;
  bool sequence_parallel = false;
  int zero_stage = 0;
  for (const PlacedStage& stage : canonical.stages) {
    const StageParallelism& p = stage.plan.parallelism;
    if (p.tp_degree > common.tp_degree) common = p;
    sequence_parallel |= p.sequence_parallel;
    zero_stage = std::max(zero_stage, p.zero_stage);
  }
  common.sequence_parallel = sequence_parallel;
  common.zero_stage = std::min(zero_stage, 1);
  common.fsep = false;
  common.tp_y_degree = 1;
  return common;
}

}  // namespace

absl::Status EqualizeStages(const ModelSpec& model, PipelinePlan& plan) {
  absl::Status status = CheckSizes(plan);
  if (!status.ok()) return status;
  const StageParallelism common = CommonParallelism(model, plan);
  for (PlacedStage& stage : plan.stages) {
    stage.plan.parallelism = common;
    stage.plan.offload = HostOffload();
  }
  plan = CanonicalPlan(model, std::move(plan));
  return absl::OkStatus();
}

}  // namespace tangram
