#ifndef TANGRAM_COORDINATOR_DISPATCH_REMOTE_PARALLELIZER_H_
#define TANGRAM_COORDINATOR_DISPATCH_REMOTE_PARALLELIZER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {

// Returns an adapter of the pool's workers as a Parallelizer. Each call is one
// query. Errors: those of the interface, and kUnavailable if no worker is left.
// `pool` must outlive the result.
std::unique_ptr<Parallelizer> CreateRemoteParallelizer(
    WorkerPool& pool, const AdapterInfo& adapter);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_REMOTE_PARALLELIZER_H_
