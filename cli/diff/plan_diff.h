#ifndef TANGRAM_CLI_DIFF_PLAN_DIFF_H_
#define TANGRAM_CLI_DIFF_PLAN_DIFF_H_

#include <vector>

#include "cli/diff/difference.h"
#include "cli/diff/stage_diff.h"
#include "common/wire/plan_file.h"

namespace tangram {

struct PlanDiff {
  // What was planned for.
  std::vector<Difference> model;
  std::vector<Difference> cluster;
  std::vector<Difference> training;
  // The pipeline as a whole, and what it will take.
  std::vector<Difference> plan;
  std::vector<Difference> prediction;
  // All stages, aligned by layers. Empty where a side has no plan, or another
  // model.
  std::vector<StageDifference> stages;

  bool same() const;
};

// What two plans do not have in common; each must have been evaluated. Who made
// them, how long that took and what else was found does not count, nor do the
// names of models, clusters and islands alone.
PlanDiff DiffPlans(const PlanFile& a, const PlanFile& b);

}  // namespace tangram

#endif  // TANGRAM_CLI_DIFF_PLAN_DIFF_H_
