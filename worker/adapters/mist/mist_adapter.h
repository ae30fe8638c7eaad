#ifndef TANGRAM_WORKER_ADAPTERS_MIST_MIST_ADAPTER_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_MIST_ADAPTER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Mist (2503.19050): equal stages, of which each has its own layers, degrees,
// ZeRO stage, recomputation and offloading. See docs/parallelizers/mist.md.
std::unique_ptr<Parallelizer> CreateMistParallelizer();

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_MIST_ADAPTER_H_
