#ifndef TANGRAM_COORDINATOR_RPC_WORKER_ADMISSION_H_
#define TANGRAM_COORDINATOR_RPC_WORKER_ADMISSION_H_

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/parallelizer/query.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/worker_quarantine.h"

namespace tangram {

// Limits on the streams of workers. A source is a WorkerIdentity: workers
// choose their names, so a limit on names would limit nobody.
struct WorkerLimits {
  // Streams of one source. 0: no limit. Workers without tokens on one host, or
  // behind one proxy, are one source.
  int max_streams = 1024;
  // Different adapters, by name and version, of all streams of one source. Far
  // more than those that exist.
  int max_adapters = 256;
  // Seconds until the first message. Workers send it when they dial.
  double hello_s = 10;
  // Streams of one source that ended within short_s. At this number, the source
  // is refused further streams. One is forgotten each second.
  int max_short_streams = 64;
  double short_s = 5;
};

// Admits the streams of workers. Thread-safe.
class WorkerAdmission {
 public:
  // `now_s`: see WorkerPoolOptions.
  WorkerAdmission(const WorkerLimits& limits, std::function<double()> now_s)
      : limits_(limits), now_s_(std::move(now_s)) {}

  // A stream that was admitted, until it is destroyed. The admission must
  // outlive it.
  class Place {
   public:
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // The stream has said hello and offers `adapters`. Returns
    // kResourceExhausted if its source offers too many different ones.
    absl::Status Greet(absl::Span<const AdapterInfo> adapters);

   private:
    friend class WorkerAdmission;
    Place(WorkerAdmission& admission, WorkerIdentity source)
        : admission_(admission), source_(std::move(source)) {}

    WorkerAdmission& admission_;
    const WorkerIdentity source_;
    // Guarded by the mutex of the admission.
    std::set<AdapterId> adapters_;
    std::function<void()> close_;
    double began_s_ = 0;
  };

  // Admits a stream that ends soon after `close` is called, which Tick does if
  // it says no hello in time. `close` must be short, and must not destroy the
  // place. Returns kResourceExhausted if the source has too many streams, and
  // kUnavailable if too many of its streams ended soon.
  absl::StatusOr<std::unique_ptr<Place>> Begin(const WorkerIdentity& source,
                                               std::function<void()> close);

  // Closes the streams that are late. Call it about once a second.
  void Tick();

 private:
  struct Source {
    int streams = 0;
    std::map<AdapterId, int> adapters;  // With the streams that offer each.
  };

  // Streams of a source that ended soon, one less each second.
  struct Churn {
    double count = 0;
    double at_s = 0;
  };

  absl::Status Greet(Place& place, absl::Span<const AdapterInfo> adapters);
  void End(Place& place);
  double ChurnOf(const WorkerIdentity& source, double now_s) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteShort(const WorkerIdentity& source, double now_s)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const WorkerLimits limits_;
  const std::function<double()> now_s_;
  Mutex mutex_;
  std::map<WorkerIdentity, Source> sources_ ABSL_GUARDED_BY(mutex_);
  std::set<Place*> silent_ ABSL_GUARDED_BY(mutex_);  // No hello yet.
  // At most kMaxSources entries.
  std::map<WorkerIdentity, Churn> churn_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_WORKER_ADMISSION_H_
