#ifndef TANGRAM_COORDINATOR_PLANNERS_JUDGE_KEPT_PLANS_H_
#define TANGRAM_COORDINATOR_PLANNERS_JUDGE_KEPT_PLANS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/infinity.h"
#include "common/planner/planner.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/evaluate_replicated_plan.h"

namespace tangram {

// A proposal that fits, with its evaluation.
struct KeptPlan {
  int index = 0;  // Into Judgement::proposals.
  Proposal proposal;
  Evaluation evaluation;  // Belongs to Proposal::plan.
  // Belongs to Proposal::replicated_plan.
  ReplicatedEvaluation replicated_evaluation;
  std::vector<std::string> notes;  // How it was refined.

  double iteration_time_s() const {
    return proposal.replicated_plan.has_value()
               ? replicated_evaluation.iteration_time_s
               : evaluation.iteration_time_s;
  }
};

// Keeps the plans that ChooseIslands can still choose, and drops all others. A
// plan of a large cluster takes a megabyte, and a search may propose thousands.
//
// With b_min the least time of any plan, ChooseIslands chooses the fastest plan
// of a set of islands, and one that takes at most b_min·(1 + min_gain). b_min
// only falls as plans are added, so other plans are never chosen later.
class KeptPlans {
 public:
  explicit KeptPlans(double min_gain) : min_gain_(min_gain) {}

  // Adds a plan that uses `islands` (a bit each) and takes
  // plan.iteration_time_s(). If times are equal, the first plan stays.
  void Add(uint32_t islands, KeptPlan plan);

  // Returns the plan that ChooseIslands chose. It must be kept.
  KeptPlan Take(int index);

  // b_min in seconds; infinite without plans.
  double least_s() const { return least_s_; }
  // b_min·(1 + min_gain), likewise.
  double limit_s() const { return least_s_ * (1 + min_gain_); }
  // The plans that are kept, by their islands. They may become faster.
  std::map<uint32_t, KeptPlan>& plans() { return fastest_; }
  int size() const { return static_cast<int>(fastest_.size()); }

 private:
  const double min_gain_;
  double least_s_ = kInfinity;            // b_min.
  std::map<uint32_t, KeptPlan> fastest_;  // By the set of islands.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_JUDGE_KEPT_PLANS_H_
