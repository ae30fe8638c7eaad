#include "cli/planning/plan_allocations.h"

#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/args/request.h"
#include "common/band/traits_of_plan.h"
#include "common/base/status_macros.h"
#include "common/domain/keep_nodes.h"
#include "common/sync/mutex.h"
#include "formats/config/node_lattice.h"

namespace tangram {

std::string NodesText(absl::Span<const std::string> groups,
                      absl::Span<const int> nodes) {
  std::vector<std::string> parts;
  for (size_t g = 0; g < groups.size(); ++g) {
    parts.push_back(absl::StrCat(groups[g], "=", nodes[g]));
  }
  return absl::StrJoin(parts, ",");
}

absl::StatusOr<AllocationRequests> AllocationRequests::Load(
    const PlanOptions& options) {
  AllocationRequests requests;
  requests.options_ = options;
  ClusterChoice& choice = requests.options_.cluster;
  choice.framework =
      std::string(FrameworkOfRuntime(options.constraints.runtime));
  ClusterChoice whole = choice;
  whole.nodes.clear();
  if (requests.is_rented()) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<NodeCount> most,
                             MostNodes(options.cluster.nodes));
    whole.nodes =
        absl::StrJoin(most, ",", [](std::string* out, const NodeCount& count) {
          absl::StrAppend(out, count.first, "=", count.second);
        });
  }
  TANGRAM_ASSIGN_OR_RETURN(requests.cluster_, LoadCluster(whole));
  TANGRAM_ASSIGN_OR_RETURN(requests.model_, LoadModelOf(options));
  return requests;
}

absl::StatusOr<PlanRequest> AllocationRequests::ForAll() const {
  return MakePlanRequest(options_, cluster_, cluster_, model_);
}

absl::StatusOr<PlanRequest> AllocationRequests::For(
    absl::Span<const int> nodes) const {
  if (!is_rented()) {
    return MakePlanRequest(options_, cluster_, KeepNodes(cluster_, nodes),
                           model_);
  }
  std::vector<std::string> groups;
  std::vector<int> counts;
  for (size_t g = 0; g < nodes.size(); ++g) {
    if (nodes[g] == 0) continue;
    groups.push_back(cluster_.groups[g]);
    counts.push_back(nodes[g]);
  }
  ClusterChoice choice = options_.cluster;
  choice.nodes = NodesText(groups, counts);
  TANGRAM_ASSIGN_OR_RETURN(Cluster cluster, LoadCluster(choice));
  return MakePlanRequest(options_, cluster_, std::move(cluster), model_);
}

void PlanAllocations(
    absl::Span<const int64_t> order, int threads, const StopCondition& stop,
    const std::function<absl::StatusOr<PlanFile>(int64_t index)>& plan_one,
    const OnAllocation& on_answer) {
  std::atomic<size_t> next = 0;
  Mutex mutex;
  const auto work = [&] {
    while (!stop.ShouldStop()) {
      const size_t i = next++;
      if (i >= order.size()) return;
      const absl::StatusOr<PlanFile> answer = plan_one(order[i]);
      if (!answer.ok() && stop.ShouldStop()) return;
      const MutexLock lock(mutex);
      on_answer(order[i], answer);
    }
  };
  std::vector<std::jthread> helpers;
  for (int t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
}

}  // namespace tangram
