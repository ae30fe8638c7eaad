#ifndef TANGRAM_CLI_FILES_PLAN_FILES_H_
#define TANGRAM_CLI_FILES_PLAN_FILES_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/files/output_files.h"
#include "common/sim/evaluate_plan.h"
#include "common/wire/plan_file.h"

namespace tangram {

// "-" as the name of an output file.
inline bool IsStandardOutput(const std::string& path) { return path == "-"; }

absl::StatusOr<PlanFile> ReadPlanFile(const std::string& path);

// Scores file.result.plan, which must be there, with EvaluatePlan and replaces
// evaluation and explanation. Errors begin with `source_name`. `timeline` may
// be null.
absl::Status EvaluatePlanFile(const std::string& source_name, PlanFile& file,
                              std::vector<TimelineEvent>* timeline);

// The plan file at `path`, evaluated where it has a plan. `timeline` may be
// null.
absl::StatusOr<PlanFile> ReadAndEvaluate(
    const std::string& path, std::vector<TimelineEvent>* timeline = nullptr);

// Where the answer of a command goes besides the console.
struct PlanOutputs {
  std::string plan_file;      // Empty: nowhere; "-": standard output.
  std::string timeline_file;  // Empty: nowhere.
};

// OK if both can be written, so far as can be told before.
absl::Status CheckOutputs(const PlanOutputs& outputs);

// Writes the files, all or none, and the plan to `out` where asked.
absl::Status WriteOutputs(const PlanOutputs& outputs, const PlanFile& file,
                          const std::vector<TimelineEvent>& timeline,
                          std::ostream& out);

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_PLAN_FILES_H_
