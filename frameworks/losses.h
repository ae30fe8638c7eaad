#ifndef TANGRAM_FRAMEWORKS_LOSSES_H_
#define TANGRAM_FRAMEWORKS_LOSSES_H_

#include <string>
#include <vector>

#include "common/domain/pipeline_plan.h"
#include "common/domain/replicated_plan.h"
#include "common/domain/training_options.h"
#include "frameworks/framework_export.h"

namespace tangram {

// Returns how `plan` and `training`, which a framework will run, differ from
// what was planned, a line each: "stages[1].plan.parallelism.tp_degree: 2;
// becomes 4". Settings without effect do not count (CanonicalPlan).
std::vector<std::string> ListLosses(const PlannedTraining& planned,
                                    const TrainingOptions& training,
                                    const PipelinePlan& plan);

// The same for several pipelines: "pipelines[1].plan.stages[0]...".
std::vector<std::string> ListLosses(const PlannedPipelines& planned,
                                    const TrainingOptions& training,
                                    const ReplicatedPlan& plan);

// Puts these losses before those that the export has.
void PutLosses(std::vector<std::string> losses, FrameworkExport& exported);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_LOSSES_H_
