#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ADAPTER_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ADAPTER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Parallelizes by iterative bottleneck alleviation: Liu et al., "Aceso:
// Efficient Parallel DNN Training through Iterative Bottleneck Alleviation",
// EuroSys 2024, rebuilt on common/cost. Atoms are layers; stages may begin and
// end at any operator. One search for each number of stages.
//
// A search step is one primitive applied; max_search_steps is shared out evenly
// over the stage counts, whose starting points are free. Dense models only.
std::unique_ptr<Parallelizer> CreateAcesoParallelizer();

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_ADAPTER_H_
