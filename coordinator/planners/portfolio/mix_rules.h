#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIX_RULES_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIX_RULES_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/runtime.h"
#include "common/planner/pipeline_rules.h"

namespace tangram {

// Returns the runtimes that no other covers, and the first of equal ones.
std::vector<const Runtime*> Widest(absl::Span<const Runtime> runtimes);

// Returns rules for slice plans that `runtime` runs, with the limits that let
// parallelizers search such plans instead of others.
PipelineRules RulesOf(const Runtime& runtime);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIX_RULES_H_
