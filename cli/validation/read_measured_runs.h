#ifndef TANGRAM_CLI_VALIDATION_READ_MEASURED_RUNS_H_
#define TANGRAM_CLI_VALIDATION_READ_MEASURED_RUNS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/validation/measured_run.h"

namespace tangram {

// The runs of a file.
struct MeasuredRuns {
  std::vector<MeasuredRun> runs;
  // The fault of each row that was left out: source, line, column, value
  // and what was expected.
  std::vector<std::string> bad_rows;
};

// Parses runs from a CSV text in the schema of docs/validation.md. Columns may
// be missing and in any order; unknown ones are ignored. A row with a bad cell
// is left out. kInvalidArgument if the text has no table or lacks a column that
// every row needs.
absl::StatusOr<MeasuredRuns> ParseMeasuredRuns(absl::string_view text,
                                               absl::string_view source_name);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_READ_MEASURED_RUNS_H_
