#include "cli/remote/node_loss.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/remote/remote_planning.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/config/limit_nodes.h"

namespace tangram {
namespace {

// Bounds the work: each group costs a whole plan.
constexpr size_t kMostGroups = 32;
// Steps below the priority of the job that they prepare for. Each step halves
// their share of the workers.
constexpr int kPrioritySteps = 5;

// Replaces characters that a group's name may have and a job's may not.
std::string AsJobId(std::string name) {
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains("._-", c)) c = '-';
  }
  return name;
}

}  // namespace

absl::StatusOr<std::vector<ReducedRequest>> WithoutANode(
    const PlanRequest& request) {
  const Cluster& cluster = request.cluster;
  if (cluster.groups.size() > kMostGroups) {
    return FieldError("--prepare-node-loss",
                      absl::StrCat(cluster.groups.size(), " groups of nodes"),
                      absl::StrCat("at most ", kMostGroups));
  }
  std::vector<ReducedRequest> reduced;
  if (cluster.nodes.size() < 2) return reduced;
  for (size_t group = 0; group < cluster.groups.size(); ++group) {
    const auto num_nodes =
        absl::c_count_if(cluster.nodes, [group](const Node& node) {
          return node.group == static_cast<int>(group);
        });
    reduced.push_back({.lost = cluster.groups[group], .request = request});
    const NodeCount left = {cluster.groups[group],
                            static_cast<int>(num_nodes) - 1};
    TANGRAM_RETURN_IF_ERROR(
        LimitNodes({&left, 1}, reduced.back().request.cluster.MakeOwn()));
  }
  return reduced;
}

absl::StatusOr<std::vector<std::string>> PrepareForNodeLoss(
    absl::Span<const ReducedRequest> spares, const PlanningSetup& setup,
    const StopCondition& stop) {
  std::vector<std::string> names;
  for (const ReducedRequest& reduced : spares) {
    PlanningSetup spare = setup;
    spare.job_id =
        absl::StrCat(setup.job_id, "-without-", AsJobId(reduced.lost));
    spare.priority -= kPrioritySteps;
    TANGRAM_RETURN_IF_ERROR(
        SubmitPlanJob(reduced.request, spare, stop).status());
    names.push_back(std::move(spare.job_id));
  }
  return names;
}

}  // namespace tangram
