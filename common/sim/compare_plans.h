#ifndef TANGRAM_COMMON_SIM_COMPARE_PLANS_H_
#define TANGRAM_COMMON_SIM_COMPARE_PLANS_H_

#include <string>
#include <vector>

#include "common/domain/pipeline_plan.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

// A plan with its evaluation; refers to both.
struct EvaluatedPlan {
  const PipelinePlan& plan;
  const Evaluation& evaluation;
};

// How full the fullest GPUs are.
double MemoryFraction(const Evaluation& evaluation);

// What `b` does better and worse than `a`, one item a line, iteration time
// first: "iteration time: 12.0 s -> 10.0 s". Items that hardly differ are left
// out. Both plans train the same model with the same batch.
std::vector<std::string> ComparePlans(const EvaluatedPlan& a,
                                      const EvaluatedPlan& b);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_COMPARE_PLANS_H_
