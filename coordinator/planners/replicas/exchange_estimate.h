#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_EXCHANGE_ESTIMATE_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_EXCHANGE_ESTIMATE_H_

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "coordinator/planners/replicas/node_groups.h"

namespace tangram {

// Returns an estimate of the seconds in which the pipelines of a partition add
// up `gradient_bytes`, with nothing else on the links. With R pipelines it is
// the slowest of
//
//   2 (R - 1) / R * gradient_bytes / (nodes * slowest link to any island)
//
// over the groups of nodes.
double ExchangeSeconds(const Cluster& cluster, absl::Span<const Island> islands,
                       const Partition& partition, double gradient_bytes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_EXCHANGE_ESTIMATE_H_
