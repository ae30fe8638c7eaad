#ifndef TANGRAM_CLI_VALIDATION_CALIBRATE_H_
#define TANGRAM_CLI_VALIDATION_CALIBRATE_H_

#include "absl/types/span.h"
#include "cli/validation/express_run.h"
#include "formats/config/calibrated_constants.h"

namespace tangram {

// A run with its measured time.
struct CalibrationSample {
  const ExpressedRun* run = nullptr;
  double iteration_s = 0;  // Measured.
};

// Returns the factors that explain the samples best. They minimise
// Σ |ln(predicted / measured)| over the samples plus a penalty, which keeps
// each constant near its catalogue value unless several samples agree
// otherwise. So few samples suffice. With eight or more, the factors go only as
// far from 1 as helps to predict samples that were left out. Uses pattern
// search over the logarithms; deterministic.
Calibration Calibrate(absl::Span<const CalibrationSample> samples);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_CALIBRATE_H_
