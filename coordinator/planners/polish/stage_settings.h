#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_STAGE_SETTINGS_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_STAGE_SETTINGS_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/stage_estimator.h"
#include "coordinator/planners/polish/stage_tuner.h"

namespace tangram {

// Returns how many microbatches each stage holds at the peak of its device. As
// many as the schedule needs, if the microbatches of all chunks of a device are
// equally large.
std::vector<int> HeldByStages(const PipelinePlan& plan,
                              const TrainingOptions& training);

// Returns what decides how stage `position` of the plan fits, if the other
// stages stay as they are. `held` are the microbatches of every stage.
StageSetting SettingOf(StageEstimator& estimator, const PipelinePlan& plan,
                       absl::Span<const int> held, int position);

// Returns the time of a microbatch on each device, transfers included.
std::vector<double> DeviceSeconds(const PipelinePlan& plan,
                                  absl::Span<const StageEvaluation> stages);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_STAGE_SETTINGS_H_
