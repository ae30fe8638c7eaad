#ifndef TANGRAM_CLI_PRINT_PRINT_DIFF_H_
#define TANGRAM_CLI_PRINT_PRINT_DIFF_H_

#include <string>

#include "cli/diff/plan_diff.h"
#include "cli/print/console.h"

namespace tangram {

// Two plans and their differences.
struct ComparedPlans {
  std::string name_a;  // Name of the file.
  std::string name_b;
  const PlanFile& a;
  const PlanFile& b;
  PlanDiff diff;
};

// Prints the fields that differ as a whole, then tables of stages, aligned by
// layers.
void PrintDiff(const ComparedPlans& plans, Console& console);

// Prints the differences in the format tangram.diff/v1 (docs/cli.md).
void PrintDiffAsJson(const ComparedPlans& plans, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_DIFF_H_
