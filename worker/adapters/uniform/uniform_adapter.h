#ifndef TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_ADAPTER_H_
#define TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_ADAPTER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Creates the uniform search: see uniform_search.h.
std::unique_ptr<Parallelizer> CreateUniformParallelizer();

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_UNIFORM_UNIFORM_ADAPTER_H_
