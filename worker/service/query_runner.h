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

// Seconds that a job waited for a thread and then took.
struct JobTimes {
  double waited_s = 0;
  double search_s = 0;
};

// Answers queries on a fixed number of threads, in the order of arrival.
// Thread-safe.
class QueryRunner {
 public:
  // Called from the runner's threads, several at once.
  using OnAnswer =
      std::function<void(const LeasedJob&, absl::StatusOr<Answer>, JobTimes)>;

  // `now_s` must be a clock that never goes back. `slots` must outlive the
  // runner.
  QueryRunner(int num_threads, Slots& slots, std::function<double()> now_s,
              OnAnswer on_answer);
  ~QueryRunner();  // Cancels the remaining jobs and waits for them.

  void Submit(LeasedJob job);
  // Cancels jobs, which then have no answers. Ignores unknown ids.
  void Cancel(const std::set<int64_t>& ids);
  // Removes the jobs that have not begun and returns their ids in order.
  std::vector<int64_t> TakeWaiting();
  // Cancels everything. Returns the ids of the jobs that will have no answer.
  std::vector<int64_t> CancelAll();
  // Returns false if jobs are left after `timeout_s`.
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
