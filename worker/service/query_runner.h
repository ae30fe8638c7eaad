#ifndef TANGRAM_WORKER_SERVICE_QUERY_RUNNER_H_
#define TANGRAM_WORKER_SERVICE_QUERY_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/parallelizer/query.h"
#include "common/sync/mutex.h"
#include "worker/service/slots.h"

namespace tangram {

// A query that a coordinator leased to this worker.
struct LeasedJob {
  int64_t id = 0;
  const Parallelizer* parallelizer = nullptr;
  std::shared_ptr<const PairContext> context;
  Query query;
};

// How long a job waited for a thread and then took, in seconds.
struct JobTimes {
  double waited_s = 0;
  double search_s = 0;
};

// Answers queries on a fixed number of threads, in the order in which they
// came. Thread-safe.
class QueryRunner {
 public:
  // Called from the threads of the runner, several at once.
  using OnAnswer =
      std::function<void(const LeasedJob&, absl::StatusOr<Answer>, JobTimes)>;

  // `now_s`: a clock that never goes back. `slots` must outlive the runner.
  QueryRunner(int num_threads, Slots& slots, std::function<double()> now_s,
              OnAnswer on_answer);
  ~QueryRunner();  // Cancels what is left and waits for it.

  void Submit(LeasedJob job);
  // There will be no answers. Unknown ids are ignored.
  void Cancel(const std::set<int64_t>& ids);
  // Takes back what has not begun, in order.
  std::vector<int64_t> TakeWaiting();
  // Cancels everything and returns what there will be no answer to.
  std::vector<int64_t> CancelAll();
  // False if jobs are left when the time is up.
  bool WaitUntilIdle(double timeout_s);

 private:
  struct Running {
    LeasedJob job;
    std::atomic<bool> is_cancelled = false;
  };

  struct Waiting {
    LeasedJob job;
    double since_s = 0;
  };

  void Work();
  void Run(Running& running, double since_s);

  Slots& slots_;
  const std::function<double()> now_s_;
  const OnAnswer on_answer_;
  Mutex mutex_;
  ConditionVariable work_available_;
  ConditionVariable idle_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::list<Running> running_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_SERVICE_QUERY_RUNNER_H_
