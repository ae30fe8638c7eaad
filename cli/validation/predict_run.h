#ifndef TANGRAM_CLI_VALIDATION_PREDICT_RUN_H_
#define TANGRAM_CLI_VALIDATION_PREDICT_RUN_H_

#include "absl/status/statusor.h"
#include "cli/validation/express_run.h"
#include "cli/validation/measured_run.h"

namespace tangram {

struct RunPrediction {
  double iteration_s = 0;
  // The fullest GPU of the stages that count, in the terms of the row: without
  // the runtime's reserve where the row counts what the allocator reserved, and
  // without fragmentation either where it counts what was allocated.
  double memory_bytes = 0;
  bool fits = true;
  // Share of the compute time that came from measured operators.
  double measured_fraction = 0;
};

// What the evaluator says of a run.
absl::StatusOr<RunPrediction> PredictRun(const MeasuredRun& run,
                                         const ExpressedRun& expressed);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_PREDICT_RUN_H_
