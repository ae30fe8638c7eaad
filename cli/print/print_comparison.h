#ifndef TANGRAM_CLI_PRINT_PRINT_COMPARISON_H_
#define TANGRAM_CLI_PRINT_PRINT_COMPARISON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/print/console.h"
#include "common/wire/plan_file.h"

namespace tangram {

// The answer of one planner to a request that several got.
struct PlannerAnswer {
  std::string planner;
  // An error if it refuses the request or does not answer in time.
  absl::StatusOr<PlanFile> file;
  std::vector<std::string> frameworks;  // Those that run its plan as it is.

  bool has_plan() const { return file.ok() && file->result.has_plan(); }
};

// Sorts answers by the judged time of their plans; those without one go last.
// Equal ones keep their order.
void SortByTime(std::vector<PlannerAnswer>& answers);

// Prints a table of the answers, why each plan is faster than the next, and why
// planners have none. `answers` are sorted.
void PrintComparison(absl::Span<const PlannerAnswer> answers, Console& console);

// Prints the same in the format tangram.comparison/v1 (docs/cli.md).
void PrintComparisonAsJson(absl::Span<const PlannerAnswer> answers,
                           Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_COMPARISON_H_
