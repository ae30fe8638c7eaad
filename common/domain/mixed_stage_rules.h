#ifndef TANGRAM_COMMON_DOMAIN_MIXED_STAGE_RULES_H_
#define TANGRAM_COMMON_DOMAIN_MIXED_STAGE_RULES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_rules.h"
#include "common/domain/training_options.h"

namespace tangram {

// Checks a mixed stage. There are at least two groups, which together have the
// stage's GPUs, and whose shares add up to the microbatch or to
// `num_microbatches`. Each group alone obeys the rules of a stage with its
// share of each microbatch. `site` is that of the whole stage. Errors are those
// of StageRules::CheckStage: "mixed.groups[1].parallelism.tp_degree: ...".
absl::Status CheckMixedStage(const StageRules& rules, const PlacedStage& stage,
                             const StageSite& site, int num_microbatches);

// Checks that the schedule of `plan` can run its mixed stages, if it has any:
// 1F1B or GPipe; no blocking transfers if stages route microbatches; and at
// most kMaxRoutedPasses.
absl::Status CheckMixedSchedule(const TrainingOptions& training,
                                const PipelinePlan& plan);

// Returns the microbatches times the devices of a pipeline that routes them,
// which the evaluator plays one by one; 0 if no stage routes.
int64_t RoutedPasses(const PipelinePlan& plan, int64_t num_microbatches);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_MIXED_STAGE_RULES_H_
