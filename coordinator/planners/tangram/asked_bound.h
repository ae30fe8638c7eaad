#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ASKED_BOUND_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ASKED_BOUND_H_

#include "common/domain/cluster.h"
#include "coordinator/planners/tangram/search_space.h"

namespace tangram {

// Returns a lower bound in seconds on the simulated iteration time of every
// pipeline of `space`, made of any plans that its parallelizer could return:
// Certificate::asked_s. 0: none is proven, if an island stands for GPUs or
// links that are faster than it says, or if there is no pipeline.
double AskedSeconds(const SearchSpace& space, const Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ASKED_BOUND_H_
