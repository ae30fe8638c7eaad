#ifndef TANGRAM_COORDINATOR_DISPATCH_REMOTE_SLICE_PLAN_SOURCE_H_
#define TANGRAM_COORDINATOR_DISPATCH_REMOTE_SLICE_PLAN_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "common/parallelizer/slice_plan_source.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {

// Slice plans from the workers of a pool.
class RemoteSlicePlanSource : public SlicePlanSource {
 public:
  // Of all queries so far.
  virtual int64_t cache_hits() const = 0;
};

// Asks only workers that offer exactly `adapter`. `should_stop` is polled while
// queries are out; true ends them with kCancelled and tells the workers. The
// queries have their part of `share` of the workers.
// `pool` and `log`, which may be null, must outlive the source.
std::unique_ptr<RemoteSlicePlanSource> CreateRemoteSlicePlanSource(
    WorkerPool& pool, const AdapterId& adapter,
    std::function<bool()> should_stop = nullptr, QueryLog* log = nullptr,
    BatchShare share = {});

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_REMOTE_SLICE_PLAN_SOURCE_H_
