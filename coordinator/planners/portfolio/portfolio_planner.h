#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PORTFOLIO_PLANNER_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PORTFOLIO_PLANNER_H_

#include <memory>
#include <string>
#include <vector>

#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/planner/runtime_catalogue.h"
#include "coordinator/planners/registry/planner_registry.h"

namespace tangram {

struct PortfolioMember {
  std::string parallelizer;
  SlicePlanSource* source = nullptr;  // Must outlive the planner.
};

// A judged planner on one source of slice plans, which must outlive it.
std::unique_ptr<ClusterPlanner> CreateJudgedPlanner(
    const PlannerChoice& choice, SlicePlanSource& source,
    const PipelineRules& rules = {});

// The chosen planner with each member alone, then, if it mixes parallelizers,
// with mixes of their slice plans, one for each runtime that can run a mix
// which no other runs too. The fastest plan is the answer, so several
// parallelizers are never worse than the best of them. A member that does not
// know the model is left out, and so is one that cuts it into other atoms than
// the first from mixes.
//
// `runtimes` must outlive the planner.
//
// Questions are asked again in every mix: sources should remember answers.
std::unique_ptr<ClusterPlanner> CreatePortfolioPlanner(
    std::vector<PortfolioMember> members, PlannerChoice choice,
    const RuntimeCatalogue& runtimes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_PORTFOLIO_PLANNER_H_
