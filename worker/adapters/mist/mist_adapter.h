#ifndef TANGRAM_WORKER_ADAPTERS_MIST_MIST_ADAPTER_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_MIST_ADAPTER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Parallelizes as Mist (2503.19050) does: stages of equal size, each with its
// own layers, degrees, ZeRO stage, recomputation and offloading. See
// docs/parallelizers/mist.md.
std::unique_ptr<Parallelizer> CreateMistParallelizer();

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_MIST_ADAPTER_H_
