#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PARTITION_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PARTITION_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/infinity.h"
#include "common/domain/island.h"
#include "common/domain/replicated_plan.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/replicas/candidate_plans.h"
#include "coordinator/planners/replicas/group_plans.h"
#include "coordinator/planners/replicas/node_groups.h"
#include "coordinator/planners/replicas/plan_pipelines.h"
#include "coordinator/planners/replicas/played_partition.h"

namespace tangram {

// A search over partitions of the nodes of islands; see PlanPipelines. A
// partition is as good as its simulated time with quick plans of its groups.
// Deterministic, thread-compatible. All arguments must outlive it.
class PartitionSearch {
 public:
  PartitionSearch(const PlanRequest& request, const PipelinesSearch& options,
                  PlanObserver& observer, const std::vector<Island>& islands);

  // Finds the best plan of several pipelines, if one is about as fast as one
  // pipeline. Errors: those of the planners, and kCancelled.
  absl::Status Run();

  const std::optional<PlayedPartition>& best() const { return best_; }
  int num_plans() const { return plans_.num_plans(); }
  // Plans of several pipelines that were simulated.
  int64_t num_played() const { return num_played_; }

 private:
  // The plan of each group of a partition.
  using Plans = std::vector<const GroupPlan*>;
  // The samples of each group.
  using Shares = std::vector<int>;
  using MaybePlayed = absl::StatusOr<std::optional<PlayedPartition>>;

  absl::Status PlanPool();
  absl::Status ClimbFromAll();
  absl::Status SearchPool(std::vector<CandidatePlan> pool);
  absl::StatusOr<std::vector<PipelinePace>> PacesOf(const Partition& partition);
  absl::StatusOr<double> LevelOf(const Partition& partition);
  absl::Status Climb(Partition partition);
  absl::StatusOr<std::vector<Partition>> MostPromising(
      const Partition& partition);
  absl::StatusOr<double> SecondsOf(const Partition& partition);
  void Keep(PlayedPartition played);
  absl::StatusOr<std::optional<Shares>> SharesOf(const Partition& partition,
                                                 int divisor);
  MaybePlayed PlayShared(const Partition& partition);
  MaybePlayed PlayShares(const Partition& partition, const Shares& shares);
  MaybePlayed PlayPlans(const Partition& groups, const Plans& plans,
                        const Shares& samples);
  MaybePlayed Play(const Partition& groups, ReplicatedPlan plan);
  absl::Status Rebalance();
  std::pair<size_t, size_t> FirstAndLast() const;
  Shares SharesOfBest() const;
  absl::Status Finish();

  const PlanRequest& request_;
  const PipelinesSearch& options_;
  PlanObserver& observer_;
  const std::vector<Island>& islands_;
  const double gradient_bytes_;  // The whole model.
  double limit_s_ = kInfinity;   // Slower plans are of no use.
  GroupPlans plans_;
  bool is_exact_ = false;  // All groups were planned, and all combined.
  int64_t num_played_ = 0;
  std::map<Partition, double> seconds_;  // The answers of SecondsOf.
  std::optional<PlayedPartition> best_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PARTITION_SEARCH_H_
