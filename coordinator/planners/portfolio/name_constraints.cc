#include "coordinator/planners/portfolio/name_constraints.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// The most constraints that are left out in turn. Each one takes a search.
constexpr size_t kMaxLeftOut = 8;

std::string Seconds(const PlanResult& result) {
  return FormatSeconds(result.evaluation.iteration_time_s);
}

}  // namespace

// Names each of the first kMaxLeftOut constraints without which there is a
// plan, with the time of that plan. At most kMaxLeftOut + 1 searches.
absl::Status NameConstraints(
    const PlanRequest& request,
    absl::FunctionRef<absl::StatusOr<PlanResult>(const PlanRequest&)> plan,
    PlanResult& result) {
  if (request.constraints.none()) return absl::OkStatus();
  std::string& reason = result.infeasible->reason;
  const std::vector<std::string> described =
      DescribeConstraints(request.constraints);
  PlanRequest relaxed = request;
  bool helped = false;
  bool is_proved = true;
  for (size_t i = 0; i < std::min(described.size(), kMaxLeftOut); ++i) {
    relaxed.constraints = Without(request.constraints, i);
    TANGRAM_ASSIGN_OR_RETURN(const PlanResult other, plan(relaxed));
    is_proved &= other.limits.empty();
    if (!other.plan.has_value()) continue;
    helped = true;
    absl::StrAppend(&reason, "; with all constraints but \"", described[i],
                    "\" there is a plan of ", Seconds(other));
  }
  if (helped) return absl::OkStatus();
  if (described.size() > 1) {
    relaxed.constraints = {};
    TANGRAM_ASSIGN_OR_RETURN(const PlanResult other, plan(relaxed));
    if (other.plan.has_value()) {
      absl::StrAppend(&reason,
                      "; without any of the constraints there is a "
                      "plan of ",
                      Seconds(other));
      return absl::OkStatus();
    }
    is_proved = other.limits.empty();
  }
  absl::StrAppend(&reason, is_proved
                               ? "; nor is there a plan without the constraints"
                               : "; nor was a plan found without the "
                                 "constraints");
  return absl::OkStatus();
}

}  // namespace tangram
