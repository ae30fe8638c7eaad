#ifndef TANGRAM_COORDINATOR_TRACING_TRACE_STORE_H_
#define TANGRAM_COORDINATOR_TRACING_TRACE_STORE_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"
#include "coordinator/tracing/plan_tracer.h"

namespace tangram {

// The traces of the latest jobs of this process. Thread-safe.
class TraceStore {
 public:
  explicit TraceStore(size_t max_traces) : max_traces_(max_traces) {}

  // Starts a trace for the job of this id that was submitted then. It replaces
  // the trace of an earlier attempt.
  std::shared_ptr<PlanTracer> Begin(const std::string& id, double submitted_s,
                                    PlanTracerOptions options);
  // Returns null if there is no trace, or it was dropped. A trace of another
  // job, which had this id before, is none: any coordinator may have deleted
  // that job.
  std::shared_ptr<const PlanTracer> Find(const std::string& id,
                                         double submitted_s);
  // Drops the traces of deleted jobs.
  void Drop(const std::function<bool(const std::string& id)>& is_deleted);

 private:
  struct Kept {
    std::string id;
    double submitted_s = 0;
    std::shared_ptr<PlanTracer> tracer;
  };

  const size_t max_traces_ ABSL_GUARDED_BY(mutex_);
  Mutex mutex_;
  // Oldest first.
  std::deque<Kept> traces_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_TRACING_TRACE_STORE_H_
