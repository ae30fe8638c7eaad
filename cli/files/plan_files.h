#ifndef TANGRAM_CLI_FILES_PLAN_FILES_H_
#define TANGRAM_CLI_FILES_PLAN_FILES_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/files/output_files.h"
#include "common/sim/evaluate_plan.h"
#include "common/wire/plan_file.h"

namespace tangram {

// True for "-", the output file that stands for standard output.
inline bool IsStandardOutput(const std::string& path) { return path == "-"; }

// Reads the plan file at `path` as it is. Errors begin with `path`.
absl::StatusOr<PlanFile> ReadPlanFile(const std::string& path);

// The events of each pipeline; one element for a plan of one. Empty if there
// are too many to draw.
using PlanTimelines = std::vector<std::vector<TimelineEvent>>;

// Evaluates file.result.plan or replicated_plan, one of which must be present,
// and replaces evaluation and explanation. Errors begin with `source_name`.
// `timelines` may be null. Returns kCancelled if `should_stop`, which may be
// empty, returns true.
absl::Status EvaluatePlanFile(
    const std::string& source_name, PlanFile& file, PlanTimelines* timelines,
    const std::function<bool()>& should_stop = nullptr);

// Reads the plan file at `path` and evaluates its plan, if it has one.
// `timelines` may be null.
absl::StatusOr<PlanFile> ReadAndEvaluate(const std::string& path,
                                         PlanTimelines* timelines = nullptr);

// Files that a command writes besides its answer on the console.
struct PlanOutputs {
  std::string plan_file;      // Empty: none; "-": standard output.
  std::string timeline_file;  // Empty: none.
};

// Returns an error if a file cannot be made, as CheckWritable does.
absl::Status CheckOutputs(const PlanOutputs& outputs);

// Writes all files or none; writes a plan for "-" to `out`.
absl::Status WriteOutputs(const PlanOutputs& outputs, const PlanFile& file,
                          const PlanTimelines& timelines, std::ostream& out);

// True if the evaluated plan of `file` has no violation.
bool Fits(const PlanFile& file);

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_PLAN_FILES_H_
