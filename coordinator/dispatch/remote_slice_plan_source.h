#ifndef TANGRAM_COORDINATOR_DISPATCH_REMOTE_SLICE_PLAN_SOURCE_H_
#define TANGRAM_COORDINATOR_DISPATCH_REMOTE_SLICE_PLAN_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "common/parallelizer/slice_plan_source.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {

// A source of slice plans from the workers of a pool.
class RemoteSlicePlanSource : public SlicePlanSource {
 public:
  // Queries so far that the cache answered.
  virtual int64_t cache_hits() const = 0;
  // The last error of the workers. OK: none so far.
  virtual const absl::Status& failure() const = 0;
  // Whether it comes only from workers that never gave a right answer.
  virtual bool failed_unproven() const = 0;
};

// Called before and after a plan waits for workers. Each may be null.
struct WaitHooks {
  std::function<void()> on_wait;
  std::function<void()> on_resume;
};

// Returns a source that asks only workers that offer exactly `adapter`. It
// polls `should_stop` while queries are out. True cancels them in the workers
// and returns kCancelled. The queries count towards `share`. `pool` and `log`,
// which may be null, must outlive the source.
std::unique_ptr<RemoteSlicePlanSource> CreateRemoteSlicePlanSource(
    WorkerPool& pool, const AdapterId& adapter,
    std::function<bool()> should_stop = nullptr, QueryLog* log = nullptr,
    BatchShare share = {}, WaitHooks hooks = {});

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_REMOTE_SLICE_PLAN_SOURCE_H_
