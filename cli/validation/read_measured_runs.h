#ifndef TANGRAM_CLI_VALIDATION_READ_MEASURED_RUNS_H_
#define TANGRAM_CLI_VALIDATION_READ_MEASURED_RUNS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/validation/measured_run.h"

namespace tangram {

// Parses runs from a CSV text in the schema of docs/validation.md. Columns may
// be missing and in any order; unknown ones are ignored. kInvalidArgument names
// source, line, column, value and what was expected.
absl::StatusOr<std::vector<MeasuredRun>> ParseMeasuredRuns(
    absl::string_view text, absl::string_view source_name);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_READ_MEASURED_RUNS_H_
