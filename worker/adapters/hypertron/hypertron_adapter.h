#ifndef TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_ADAPTER_H_
#define TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_ADAPTER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Creates our own search along the lines of HyperTron's abstract. It is not
// HyperTron: see hypertron_search.h.
std::unique_ptr<Parallelizer> CreateHypertronParallelizer();

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_ADAPTER_H_
