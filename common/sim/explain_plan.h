#ifndef TANGRAM_COMMON_SIM_EXPLAIN_PLAN_H_
#define TANGRAM_COMMON_SIM_EXPLAIN_PLAN_H_

#include <string>
#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

// Short sentences on what makes a plan as fast as it is: where its GPUs' time
// goes, largest share first; which stage sets the pace; how each island fits in
// memory; the slowest transfer; how much was measured. What does not fit comes
// first. `evaluation` is EvaluatePlan's of `plan`.
std::vector<std::string> ExplainPlan(const ModelSpec& model,
                                     const Cluster& cluster,
                                     const PipelinePlan& plan,
                                     const Evaluation& evaluation);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_EXPLAIN_PLAN_H_
