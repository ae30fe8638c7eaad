#ifndef TANGRAM_CLI_VALIDATION_RUN_STAGES_H_
#define TANGRAM_CLI_VALIDATION_RUN_STAGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/validation/measured_run.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// One pipeline stage of a measured run.
struct RunStage {
  StagePlan plan;
  // The GPU types of its ranks in order, each for that many ranks; empty: the
  // row's one type.
  struct Ranks {
    std::string gpu;
    int count = 0;
  };
  std::vector<Ranks> ranks;
  // The row's memory counts the GPUs of this stage.
  bool memory_measured = true;
};

struct RunStages {
  std::vector<RunStage> stages;
  int pipeline_microbatch_size = 0;
  int virtual_stages = 1;
};

// The stages of a run: from its plan_json in the forms that Sailor, AMP, Aceso
// and Mist publish, or its layers cut evenly.
absl::StatusOr<RunStages> StagesOfRun(const MeasuredRun& run,
                                      const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_RUN_STAGES_H_
