#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PIPELINE_RULES_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PIPELINE_RULES_H_

#include <functional>
#include <limits>

#include "absl/status/statusor.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_limits.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// What the framework that is to run a plan asks of it, beside the request's own
// constraints.
struct PipelineRules {
  StageLimits stages;
  // Of the slices that hold the first or the last layer, besides.
  StageLimits ends;
  int gpus_per_node = 0;  // Of islands to be used; 0: any.
  // What is run of a plan that is asked for, or why none: whole plans are
  // scored as they will run. Empty: as they are.
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

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PIPELINE_RULES_H_
