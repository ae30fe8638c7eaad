#ifndef TANGRAM_CLI_COMMANDS_VALIDATION_JSON_H_
#define TANGRAM_CLI_COMMANDS_VALIDATION_JSON_H_

#include "cli/validation/read_measured_runs.h"
#include "cli/validation/validate_runs.h"
#include "nlohmann/json.hpp"

namespace tangram {

// Returns a report as tangram.validation/v1 (docs/json.md). Errors are
// fractions of the measurement.
nlohmann::ordered_json ValidationJson(const MeasuredRuns& read,
                                      const ValidationReport& report);

}  // namespace tangram

#endif  // TANGRAM_CLI_COMMANDS_VALIDATION_JSON_H_
