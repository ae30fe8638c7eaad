#ifndef TANGRAM_CLI_PLANNING_PLAN_ALLOCATIONS_H_
#define TANGRAM_CLI_PLANNING_PLAN_ALLOCATIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/args/options.h"
#include "cli/planning/local_planning.h"
#include "cli/planning/plan_monitor.h"
#include "formats/config/model_file.h"

namespace tangram {

// Returns "h100=2,a100=4", as --nodes of `plan` takes it.
std::string NodesText(absl::Span<const std::string> groups,
                      absl::Span<const int> nodes);

// The requests of `plan` for allocations of one cluster, whose files are read
// once. Thread-safe once it is made.
class AllocationRequests {
 public:
  // Reads the files of the options. Without a cluster file, the cluster is of
  // the cloud instances that `nodes` names, the most of each.
  static absl::StatusOr<AllocationRequests> Load(const PlanOptions& options);

  // The whole cluster, with all of its memory.
  const Cluster& cluster() const { return cluster_; }
  // Each allocation of cloud instances is a cluster of its own.
  bool is_rented() const { return options_.cluster.file.empty(); }

  // Returns the request for the whole cluster.
  absl::StatusOr<PlanRequest> ForAll() const;
  // Returns that for so many nodes of each group, the same as `plan --nodes`
  // makes.
  absl::StatusOr<PlanRequest> For(absl::Span<const int> nodes) const;

 private:
  PlanOptions options_;
  Cluster cluster_;
  LoadedModel model_;
};

// Called with the index of an allocation and its answer, one call at a time.
using OnAllocation =
    std::function<void(int64_t index, const absl::StatusOr<PlanFile>& answer)>;

// Plans each allocation by `plan_one`, in the order of `order`, in `threads`
// threads, until `stop` says so. An allocation that was stopped is not
// reported.
void PlanAllocations(
    absl::Span<const int64_t> order, int threads, const StopCondition& stop,
    const std::function<absl::StatusOr<PlanFile>(int64_t index)>& plan_one,
    const OnAllocation& on_answer);

}  // namespace tangram

#endif  // TANGRAM_CLI_PLANNING_PLAN_ALLOCATIONS_H_
