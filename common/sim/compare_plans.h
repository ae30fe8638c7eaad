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

// Returns the number of GPUs that the stages use.
int NumGpus(const PipelinePlan& plan);

// Returns the largest ratio of peak to capacity of memory over the stages.
double MemoryFraction(const Evaluation& evaluation);

// Returns the differences between two evaluated plans, one item a line,
// iteration time first: "iteration time: 12.0 s -> 10.0 s". Fractions that
// differ by less than 0.005 are left out. Both plans train the same model with
// the same batch.
std::vector<std::string> ComparePlans(const EvaluatedPlan& a,
                                      const EvaluatedPlan& b);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_COMPARE_PLANS_H_
