#ifndef TANGRAM_CLI_DIFF_STAGE_DIFF_H_
#define TANGRAM_CLI_DIFF_STAGE_DIFF_H_

#include <string>
#include <vector>

#include "cli/diff/difference.h"
#include "common/domain/stage_plan.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Layers that one stage of each plan runs, and how they are run otherwise.
struct StageDifference {
  OperatorCut begin;
  OperatorCut end;
  int stage_a = 0;
  int stage_b = 0;
  std::vector<Difference> differences;  // Empty: in the same way.
};

// Both plans cut into the layers that no boundary of either crosses, in order.
// Both must be valid plans of the same layers.
std::vector<StageDifference> DiffStages(const PlanFile& a, const PlanFile& b);

}  // namespace tangram

#endif  // TANGRAM_CLI_DIFF_STAGE_DIFF_H_
