#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLACE_PLAN_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLACE_PLAN_H_

#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/island.h"
#include "common/domain/pipeline_plan.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/search_space.h"

namespace tangram {

// Returns GPUs [first, first + count) of an island, in the order in which
// stages take them: node by node.
std::vector<GpuId> GpusOfIsland(const Island& island, int first, int count);

// Returns the pipeline of `finalist` on the GPUs of the cluster. The stages of
// a slice take the GPUs of their island in order.
PipelinePlan PlacePlan(const SearchSpace& space, const PairStore& store,
                       const Finalist& finalist);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLACE_PLAN_H_
