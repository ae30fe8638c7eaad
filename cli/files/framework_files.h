#ifndef TANGRAM_CLI_FILES_FRAMEWORK_FILES_H_
#define TANGRAM_CLI_FILES_FRAMEWORK_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Reads a plan from files of framework `format`. `frame` supplies cluster,
// model and training. Returns the plan with its evaluation.
absl::StatusOr<PlanFile> ReadFrameworkPlan(
    const std::string& format, const std::vector<std::string>& paths,
    const PlanFile& frame);

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_FRAMEWORK_FILES_H_
