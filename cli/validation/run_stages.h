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
  // Runs of ranks with one GPU type, in rank order; empty: all ranks have the
  // row's GPU type.
  struct Ranks {
    std::string gpu;
    int count = 0;
  };
  std::vector<Ranks> ranks;
  // The row's memory includes the GPUs of this stage.
  bool memory_measured = true;
};

// All stages of a run.
struct RunStages {
  std::vector<RunStage> stages;
  int pipeline_microbatch_size = 0;  // Samples of all replicas.
  int virtual_stages = 1;            // Chunks on each device.
};

// Returns the stages of a run: from its plan_json, in the formats that Sailor,
// AMP, Aceso and Mist publish, or with its layers cut evenly.
absl::StatusOr<RunStages> StagesOfRun(const MeasuredRun& run,
                                      const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_RUN_STAGES_H_
