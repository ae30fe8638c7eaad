#ifndef TANGRAM_COMMON_SIM_EXPLAIN_PLAN_H_
#define TANGRAM_COMMON_SIM_EXPLAIN_PLAN_H_

#include <string>
#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

// Returns short sentences that explain the speed of a plan: the shares of GPU
// time, largest first; the stage that sets the pace; the memory of each island;
// the slowest transfer; the share that was measured. Violations come first.
// `evaluation` is the result of EvaluatePlan for `plan`.
std::vector<std::string> ExplainPlan(const ModelSpec& model,
                                     const Cluster& cluster,
                                     const PipelinePlan& plan,
                                     const Evaluation& evaluation);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_EXPLAIN_PLAN_H_
