#ifndef TANGRAM_CLI_VALIDATION_PREDICT_RUN_H_
#define TANGRAM_CLI_VALIDATION_PREDICT_RUN_H_

#include "absl/status/statusor.h"
#include "cli/validation/express_run.h"
#include "cli/validation/measured_run.h"

namespace tangram {

// The prediction of a measured run.
struct RunPrediction {
  double iteration_s = 0;
  // Memory of the fullest GPU of the stages that count, as the row measures it.
  // Excludes the runtime's reserve if the row counts memory that the allocator
  // reserved, and also fragmentation if it counts allocated memory.
  double memory_bytes = 0;
  // Whether the plan can run on GPUs that it may fill.
  bool fits = true;
  // Share of the memory of its fullest GPU that the run needs.
  double filled = 0;
  // Share of the compute time that is from measured operators.
  double measured_fraction = 0;
};

// Predicts a run with the evaluator.
absl::StatusOr<RunPrediction> PredictRun(const MeasuredRun& run,
                                         const ExpressedRun& expressed);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_PREDICT_RUN_H_
