#ifndef TANGRAM_CLI_VALIDATION_VALIDATE_RUNS_H_
#define TANGRAM_CLI_VALIDATION_VALIDATE_RUNS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/validation/calibrate.h"
#include "cli/validation/measured_run.h"
#include "cli/validation/score.h"
#include "common/band/residual_table.h"
#include "formats/config/device_list.h"
#include "formats/profile/profile.h"

namespace tangram {

struct ValidationOptions {
  // Number of rows of each source and GPU type to which the device and link
  // constants are fitted. The other rows are scored. 0: no fitting.
  int calibration_rows = 0;
  uint64_t seed = 0;  // Chooses those rows.
  // Without it, flagged rows are left out unless they ran out of memory.
  bool include_flagged = false;
  int worst_rows = 3;  // Number of rows to list for each group.
  // Fits whatever is fitted, constants and bands, without the source that it is
  // scored on. Then `calibration_rows` counts rows of each other source that
  // measured the same GPU type.
  bool leave_one_source_out = false;
  // Share of each GPU's memory that a plan must leave free to fit. Empty: that
  // of its kind (MemoryMarginOf), without what the source of the row tells if
  // sources are left out.
  std::optional<double> memory_margin;
  // Profiles are attached to the devices of their types.
  std::vector<Profile> profiles;
  // GPUs that stand in for the catalogue's entries of their types.
  std::vector<CatalogueDevice> devices;
};

// The rows of one source on one kind of cluster.
struct ValidatedGroup {
  std::string source;
  std::string gpu;
  std::vector<PredictedRun> runs;  // The scored rows.
  int calibration_rows = 0;
  Calibration calibration;  // Empty: not calibrated.
  // Score of `runs`; `worst` points into them.
  Score score;
  // Mean absolute error of the predictions that the source itself publishes,
  // over the scored rows that have one.
  ErrorSummary published;
};

// All rows of a source, on whichever GPUs.
struct ValidatedSource {
  std::string source;
  Score score;  // Without the worst rows.
  BandScore time_bands;
  BandScore memory_bands;
};

// A row that says the same as an earlier one.
struct RepeatedRun {
  const MeasuredRun* run = nullptr;
  const MeasuredRun* first = nullptr;
};

// A row that was not predicted.
struct SkippedRun {
  const MeasuredRun* run = nullptr;
  std::string reason;
};

struct ValidationReport {
  std::vector<ValidatedGroup> groups;  // In order of first appearance.
  std::vector<SkippedRun> skipped;
  std::vector<RepeatedRun> repeated;  // Scored like any other row.
  // In order of first appearance; the last has all rows, without tau and
  // regret.
  std::vector<ValidatedSource> sources;
  // The residuals of all scored rows.
  ResidualTable residuals;
};

// Predicts every run that can be expressed and scores the predictions. Bands
// are the shipped ones unless sources are left out. Refers to `runs`.
// Deterministic.
ValidationReport ValidateRuns(absl::Span<const MeasuredRun> runs,
                              const ValidationOptions& options);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_VALIDATE_RUNS_H_
