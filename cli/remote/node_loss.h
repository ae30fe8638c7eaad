#ifndef TANGRAM_CLI_REMOTE_NODE_LOSS_H_
#define TANGRAM_CLI_REMOTE_NODE_LOSS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/planning/local_planning.h"

namespace tangram {

// A request for a cluster that has lost one node.
struct ReducedRequest {
  std::string lost;  // The group that lost a node.
  PlanRequest request;
};

// Returns one request for each group, for the cluster without a node of that
// group; nodes of a group are alike. Empty for a cluster of one node.
// kInvalidArgument for more than 32 groups.
absl::StatusOr<std::vector<ReducedRequest>> WithoutANode(
    const PlanRequest& request);

// Submits the requests as jobs of lower priority, named after setup.job_id and
// the group, so that the answers exist when a node is lost. Returns the names.
absl::StatusOr<std::vector<std::string>> PrepareForNodeLoss(
    absl::Span<const ReducedRequest> spares, const PlanningSetup& setup,
    const StopCondition& stop);

}  // namespace tangram

#endif  // TANGRAM_CLI_REMOTE_NODE_LOSS_H_
