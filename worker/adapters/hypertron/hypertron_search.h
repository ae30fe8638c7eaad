#ifndef TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SEARCH_H_
#define TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SEARCH_H_

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Simulated annealing over the degrees of equal stages: our reconstruction of
// the idea of HyperTron (SC'25), of which only the abstract is public: several
// dimensions of parallelism, among them 2-D tensor and context parallelism,
// searched together under an analytic performance model. Moves, energy and
// schedule are ours. No recomputation, ZeRO or offloading, as in the paper's
// Tab. 1.
//
// A walk begins at the best tp, dp and pp of each pipeline depth, once towards
// the fastest plan with nothing behind the slice, once towards the fastest with
// room for any number of trailing stages. The answer is the Pareto set of all
// that was seen. A step is one choice that is evaluated; seen again it is free.
SlicePlanSet SearchHypertron(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SEARCH_H_
