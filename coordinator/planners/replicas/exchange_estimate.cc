#include "coordinator/planners/replicas/exchange_estimate.h"

#include <algorithm>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"

namespace tangram {
namespace {

// Returns the bytes per second of the slowest link from a node of the group to
// any island.
double LinkFrom(const Cluster& cluster, absl::Span<const Island> islands,
                const NodeGroup& group) {
  double slowest = kInfinity;
  for (size_t i = 0; i < islands.size(); ++i) {
    if (group[i] == 0) continue;
    for (const Island& other : islands) {
      const Link& link =
          cluster.LinkBetween(islands[i].nodes.front(), other.nodes.back());
      slowest = std::min(slowest, link.bandwidth_bytes_per_s);
    }
  }
  return slowest;
}

}  // namespace

double ExchangeSeconds(const Cluster& cluster, absl::Span<const Island> islands,
                       const Partition& partition, double gradient_bytes) {
  const double num_groups = static_cast<double>(partition.size());
  double slowest_s = 0;
  for (const NodeGroup& group : partition) {
    const double rate =
        absl::c_accumulate(group, 0) * LinkFrom(cluster, islands, group);
    slowest_s = std::max(
        slowest_s, 2 * (num_groups - 1) / num_groups * gradient_bytes / rate);
  }
  return slowest_s;
}

}  // namespace tangram
