#ifndef TANGRAM_COMMON_SIM_EXPLAIN_REPLICATED_PLAN_H_
#define TANGRAM_COMMON_SIM_EXPLAIN_REPLICATED_PLAN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/replicated_plan.h"
#include "common/sim/evaluate_replicated_plan.h"

namespace tangram {

// Returns short sentences on a plan of several pipelines: when each ends its
// share, the time that the exchange of gradients adds, how a runtime must weigh
// the gradients, and shares of the batch that would shorten the iteration, from
// an evaluation of the plan with them. The sentences of ExplainPlan for each
// pipeline follow, after its number.
std::vector<std::string> ExplainReplicatedPlan(
    const ModelSpec& model, const Cluster& cluster,
    const TrainingOptions& training, const ReplicatedPlan& plan,
    const ReplicatedEvaluation& evaluation);

// Returns the sentences of that explanation about pipeline `r` alone.
std::vector<std::string> ExplainPipeline(const ModelSpec& model,
                                         const Cluster& cluster,
                                         const ReplicatedPlan& plan,
                                         const ReplicatedEvaluation& evaluation,
                                         size_t r);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_EXPLAIN_REPLICATED_PLAN_H_
