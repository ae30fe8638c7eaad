#include "coordinator/planners/portfolio/check_meets.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/planner/plan_constraints.h"

namespace tangram {

absl::Status CheckMeets(const PlannerInfo& planner,
                        const PlanRequest& request) {
  PlanConstraints others = request.constraints;
  others.runtime.clear();
  if (!planner.features.constraints && !others.none()) {
    return absl::InvalidArgumentError(
        absl::StrCat("constraints: ", DescribeConstraints(others).front(),
                     "; planner ", planner.name,
                     " meets none but runtime auto and any"));
  }
  if (!planner.features.constraints && request.pipeline_microbatch_size > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pipeline_microbatch_size: ", request.pipeline_microbatch_size,
        "; planner ", planner.name, " chooses it itself; expected 0"));
  }
  const std::string& runtime = request.constraints.runtime;
  if (!planner.features.runtimes && !request.constraints.asks_all_runtimes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "constraints.runtime: ", runtime, "; planner ", planner.name,
        " plans for no framework; expected ", kAutoRuntime, " or none"));
  }
  return absl::OkStatus();
}

}  // namespace tangram
