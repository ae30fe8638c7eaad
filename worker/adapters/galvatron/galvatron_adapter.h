#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_ADAPTER_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_ADAPTER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Parallelizes as Galvatron does: Miao et al., "Galvatron: Efficient
// Transformer Training over Multiple GPUs Using Automatic Parallelism", VLDB
// 2022, with the balanced stages of Wang et al., 2307.02031. The algorithm is
// rebuilt on common/cost; docs/parallelizers/galvatron.md lists the
// differences.
//
// A search step is the estimate of one stage. The search is exact and always
// completes, so max_search_steps has no effect.
std::unique_ptr<Parallelizer> CreateGalvatronParallelizer();

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_ADAPTER_H_
