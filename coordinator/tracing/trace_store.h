#ifndef TANGRAM_COORDINATOR_TRACING_TRACE_STORE_H_
#define TANGRAM_COORDINATOR_TRACING_TRACE_STORE_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"
#include "coordinator/tracing/plan_tracer.h"

namespace tangram {

// The traces of the latest jobs of this process. Thread-safe.
class TraceStore {
 public:
  explicit TraceStore(size_t max_traces) : max_traces_(max_traces) {}

  // Starts a trace for the job of this id. It replaces the trace of an earlier
  // attempt.
  std::shared_ptr<PlanTracer> Begin(const std::string& id,
                                    PlanTracerOptions options);
  // Returns null if there is no trace, or it was dropped.
  std::shared_ptr<const PlanTracer> Find(const std::string& id);

 private:
  const size_t max_traces_ ABSL_GUARDED_BY(mutex_);
  Mutex mutex_;
  // Oldest first.
  std::deque<std::pair<std::string, std::shared_ptr<PlanTracer>>> traces_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_TRACING_TRACE_STORE_H_
