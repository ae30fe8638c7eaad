#ifndef TANGRAM_CLI_REMOTE_NODE_LOSS_H_
#define TANGRAM_CLI_REMOTE_NODE_LOSS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/planning/local_planning.h"

namespace tangram {

// A request for what is left of a cluster.
struct ReducedRequest {
  std::string lost;  // The group that has a node less.
  PlanRequest request;
};

// The cluster without a node of each group in turn; nodes of one group are
// alike. None where no node would be left. kInvalidArgument for more groups
// than anybody wants to wait for.
absl::StatusOr<std::vector<ReducedRequest>> WithoutANode(
    const PlanRequest& request);

// Leaves those to the coordinator as jobs of low priority, named after
// setup.job_id and the group, so that its workers know the answers by the time
// a node is lost. Returns the names.
absl::StatusOr<std::vector<std::string>> PrepareForNodeLoss(
    absl::Span<const ReducedRequest> spares, const PlanningSetup& setup,
    const StopCondition& stop);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_NODE_LOSS_H_
