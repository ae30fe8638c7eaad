#ifndef TANGRAM_CLI_FILES_FRAMEWORK_FILES_H_
#define TANGRAM_CLI_FILES_FRAMEWORK_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Reads a plan from files of framework `format`. `frame` supplies cluster,
// model and training; a sequence length that neither it nor the files have is
// `usual_sequence_length`. Returns the plan with its evaluation.
absl::StatusOr<PlanFile> ReadFrameworkPlan(
    const std::string& format, const std::vector<std::string>& paths,
    const PlanFile& frame, int usual_sequence_length = 0);

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_FRAMEWORK_FILES_H_
