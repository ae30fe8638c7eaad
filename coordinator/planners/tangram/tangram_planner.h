#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_

#include <memory>

#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/pipeline_rules.h"
#include "common/planner/planner.h"
#include "coordinator/planners/tangram/tangram_options.h"

namespace tangram {

// The paper's algorithm: islands, slices, pruned pairs, slice plans from
// `source`, composition. Proposes the compositions within the finalist slack
// of the best; after refusals, the next best. Constraints are kept where
// islands are made, where pairs are enumerated, in what `source` is asked and
// in composition; their runtime is the caller's, as `rules`. `source` must
// outlive the planner.
std::unique_ptr<Planner> CreateTangramPlanner(SlicePlanSource& source,
                                              const TangramOptions& options,
                                              const PipelineRules& rules = {});

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_
