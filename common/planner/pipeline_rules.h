#ifndef TANGRAM_COMMON_PLANNER_PIPELINE_RULES_H_
#define TANGRAM_COMMON_PLANNER_PIPELINE_RULES_H_

#include <functional>
#include <limits>

#include "absl/status/statusor.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/runtime.h"
#include "common/domain/stage_limits.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// What the framework that is to run a plan asks of it, beside the request's own
// constraints.
struct PipelineRules {
  // Slice plans that it cannot run are not used. Null: any will do. Must
  // outlive the search.
  const Runtime* runtime = nullptr;
  StageLimits stages;
  // Of the slices that hold the first or the last layer, besides.
  StageLimits ends;
  int gpus_per_node = 0;  // Of islands to be used; 0: any.
  // Returns the plan that the runtime runs when it is asked for this one, or
  // why it runs none. Whole plans are scored as they will run. Empty: as they
  // are.
  std::function<absl::StatusOr<PipelinePlan>(const PlanRequest&,
                                             const PipelinePlan&)>
      fit;
  // Whether the pipeline may have so many GPUs; empty: any number.
  std::function<bool(int)> accepts_gpus;
  // A closed form that is known to be reachable otherwise: nothing slower is
  // looked for.
  double incumbent_s = std::numeric_limits<double>::infinity();
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PLANNER_PIPELINE_RULES_H_
