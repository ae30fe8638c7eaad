#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLACE_GROUPS_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLACE_GROUPS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/replicated_plan.h"
#include "coordinator/planners/replicas/node_groups.h"

namespace tangram {

// A group of nodes with its plan, on the first nodes of each island, and its
// share of the batch. Refers to the caller's.
struct PlacedGroup {
  const NodeGroup* nodes = nullptr;
  const PipelinePlan* plan = nullptr;
  int64_t num_microbatches = 0;
};

// Returns the plans of groups side by side. Each takes the next nodes of its
// islands. The state fractions of `sync` are equal.
ReplicatedPlan PlaceGroups(absl::Span<const Island> islands,
                           absl::Span<const PlacedGroup> groups,
                           ReplicaSync sync);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_PLACE_GROUPS_H_
