#ifndef TANGRAM_CLI_DIFF_PLAN_DIFF_H_
#define TANGRAM_CLI_DIFF_PLAN_DIFF_H_

#include <vector>

#include "cli/diff/difference.h"
#include "cli/diff/stage_diff.h"
#include "common/wire/plan_file.h"

namespace tangram {

// Differences between plans a and b.
struct PlanDiff {
  // The request that each plan answers.
  std::vector<Difference> model;
  std::vector<Difference> cluster;
  std::vector<Difference> training;
  // The pipeline as a whole, and its predicted time and memory.
  std::vector<Difference> plan;
  std::vector<Difference> prediction;
  // All stages, aligned by layers. Empty if a side has no plan or the models
  // differ.
  std::vector<StageDifference> stages;

  // True if nothing differs.
  bool same() const;
};

// Returns the differences between two evaluated plans. Ignores who made them,
// how long that took, and other findings of the planner. A model, cluster or
// island under another name is the same.
PlanDiff DiffPlans(const PlanFile& a, const PlanFile& b);

}  // namespace tangram

#endif  // TANGRAM_CLI_DIFF_PLAN_DIFF_H_
