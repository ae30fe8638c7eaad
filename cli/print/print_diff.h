#ifndef TANGRAM_CLI_PRINT_PRINT_DIFF_H_
#define TANGRAM_CLI_PRINT_PRINT_DIFF_H_

#include <string>

#include "cli/diff/plan_diff.h"
#include "cli/print/console.h"

namespace tangram {

// Two plans with what they do not have in common. `diff` is theirs.
struct ComparedPlans {
  std::string name_a;  // Of their files.
  std::string name_b;
  const PlanFile& a;
  const PlanFile& b;
  PlanDiff diff;
};

// What differs as a whole, and tables of stages, aligned by layers.
void PrintDiff(const ComparedPlans& plans, Console& console);

// The same in the format tangram.diff/v1 (docs/cli.md).
void PrintDiffAsJson(const ComparedPlans& plans, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_DIFF_H_
