#ifndef TANGRAM_CLI_REMOTE_REMOTE_FRONTIER_H_
#define TANGRAM_CLI_REMOTE_REMOTE_FRONTIER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cli/planning/local_planning.h"
#include "common/wire/allocation_answer.h"

namespace tangram {

// Asks the coordinator for the answers to allocations of the cluster of
// `whole`, in one call. `on_answer` gets each as it comes, with its index.
// Errors: those of PlanRemotely; what had come before is known.
absl::Status AskFrontier(
    const PlanRequest& whole, absl::Span<const std::vector<int>> allocations,
    const PlanningSetup& setup, const StopCondition& stop,
    const std::function<void(int64_t index, AllocationAnswer answer)>&
        on_answer);

// Returns the plan that the coordinator keeps under an id of an answer.
absl::StatusOr<PlanFile> GetKeptPlan(const std::string& plan_id,
                                     const PlanningSetup& setup,
                                     const StopCondition& stop);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_REMOTE_FRONTIER_H_
