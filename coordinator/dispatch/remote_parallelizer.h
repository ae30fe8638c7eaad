#ifndef TANGRAM_COORDINATOR_DISPATCH_REMOTE_PARALLELIZER_H_
#define TANGRAM_COORDINATOR_DISPATCH_REMOTE_PARALLELIZER_H_

#include <memory>

#include "common/parallelizer/parallelizer.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {

// An adapter of the pool's workers as a Parallelizer: one call, one query. Adds
// to the errors of the interface kUnavailable, when no worker is left.
// `pool` must outlive it.
std::unique_ptr<Parallelizer> CreateRemoteParallelizer(
    WorkerPool& pool, const AdapterInfo& adapter);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_REMOTE_PARALLELIZER_H_
