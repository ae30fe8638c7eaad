#ifndef TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SEARCH_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Searches the degrees of equal stages by simulated annealing. This is our
// reconstruction of the idea of HyperTron (SC'25), of which only the abstract
// is public. Several dimensions of parallelism, among them 2-D tensor and
// context parallelism, are searched together under an analytic performance
// model. Moves, energy and schedule are ours. There is no recomputation, ZeRO
// or offloading, as in the paper's Tab. 1.
//
// A walk begins at the best tp, dp and pp of each pipeline depth. One walk
// seeks the fastest plan with nothing behind the slice, one the fastest with
// room for any number of trailing stages. Returns the Pareto set of all
// evaluated choices. A step is the evaluation of a choice; seeing it again
// costs none.
SlicePlanSet SearchHypertron(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SEARCH_H_
