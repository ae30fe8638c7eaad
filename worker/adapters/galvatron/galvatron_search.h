#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_SEARCH_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram::galvatron {

// The answer to one query, which is known to be well-formed. For every number
// of stages, for numbers of trailing stages ever further apart, and for either
// Goal, over all cuts between layers, degrees and layers to recompute:
// - the plan whose slowest stage is fastest, of those the one with the least
//   sum of stages;
// - the plan with the least sum of those whose slowest stage takes at most a
//   quarter longer.
// Both exactly, where the device and not the host takes the longest.
SlicePlanSet SearchGalvatron(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options);

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_SEARCH_H_
