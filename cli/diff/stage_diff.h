#ifndef TANGRAM_CLI_DIFF_STAGE_DIFF_H_
#define TANGRAM_CLI_DIFF_STAGE_DIFF_H_

#include <string>
#include <vector>

#include "cli/diff/difference.h"
#include "common/domain/stage_plan.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Layers that one stage of each plan runs, and what differs between the stages.
struct StageDifference {
  OperatorCut begin;                    // First operator.
  OperatorCut end;                      // Operator after the last.
  int stage_a = 0;                      // Index of the stage in plan a.
  int stage_b = 0;                      // Index of the stage in plan b.
  std::vector<Difference> differences;  // Empty: both run it alike.
};

// Cuts both plans at the boundaries of either and returns the parts in order.
// Both must be valid plans of the same layers.
std::vector<StageDifference> DiffStages(const PlanFile& a, const PlanFile& b);

}  // namespace tangram

#endif  // TANGRAM_CLI_DIFF_STAGE_DIFF_H_
