#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ADAPTER_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ADAPTER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Parallelizes by iterative bottleneck alleviation: Liu et al., "Aceso:
// Efficient Parallel DNN Training through Iterative Bottleneck Alleviation",
// EuroSys 2024. The algorithm is rebuilt on common/cost. Atoms are layers;
// stages may begin and end at any operator. Each number of stages has its own
// search.
//
// A search step applies one primitive. max_search_steps is divided evenly among
// the stage counts; their starting points cost no steps. Plans dense models
// only.
std::unique_ptr<Parallelizer> CreateAcesoParallelizer();

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ADAPTER_H_
