#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_

#include <memory>

#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/pipeline_rules.h"
#include "common/planner/planner.h"
#include "coordinator/planners/tangram/tangram_options.h"

namespace tangram {

// Returns the paper's planner: islands, slices, pruned pairs, slice plans from
// `source`, and composition. It proposes the compositions within the finalist
// slack of the best, and after refusals the next best. It applies constraints
// to islands, to the enumeration of pairs, to the questions for `source` and to
// composition. The caller passes the limits of a runtime as `rules`. `source`
// must outlive the planner.
std::unique_ptr<Planner> CreateTangramPlanner(SlicePlanSource& source,
                                              const TangramOptions& options,
                                              const PipelineRules& rules = {});

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_TANGRAM_PLANNER_H_
