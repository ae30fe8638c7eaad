#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_DISPATCH_WORKER_POOL_FIXTURE_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_DISPATCH_WORKER_POOL_FIXTURE_H_

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/dispatch/worker_pool.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/dispatch/counting_parallelizer.h"
#include "tests/unit/coordinator/dispatch/pool_workers.h"

namespace tangram::testing {

inline const AdapterId kCounting{"counting", "1"};

// Records the calls. The pool makes them with its lock held, from any thread
// that waits in Run.
class RecordingWorker : public WorkerConnection {
 public:
  void Lease(std::vector<LeasedQuery> queries) override {
    const std::lock_guard lock(mutex_);
    for (LeasedQuery& query : queries) leases_.push_back(std::move(query));
    changed_.notify_all();
  }
  void Cancel(TaskId task) override {
    const std::lock_guard lock(mutex_);
    cancelled_.push_back(task);
  }
  void AllowSilence(double silence_s) override {
    const std::lock_guard lock(mutex_);
    silence_s_ = silence_s;
  }
  void Close() override {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }

  // Waits until there are that many.
  std::vector<TaskId> AwaitLeases(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return leases_.size() >= count; });
    std::vector<TaskId> tasks;
    for (const LeasedQuery& lease : leases_) tasks.push_back(lease.task);
    return tasks;
  }
  std::vector<TaskId> cancelled() {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }
  // Returns the last one that was allowed.
  std::optional<double> silence_s() {
    const std::lock_guard lock(mutex_);
    return silence_s_;
  }
  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LeasedQuery> leases_;
  std::vector<TaskId> cancelled_;
  std::optional<double> silence_s_;
  bool is_closed_ = false;
};

class CountingObserver : public WorkerPoolObserver {
 public:
  void OnAdapter(const std::string&) override {}
  void OnQuery(const std::string&, QueryEvent event) override {
    ++events[event];
  }
  void OnWait(double seconds) override { waits_s.push_back(seconds); }
  void OnCacheLookup(bool hit) override { ++(hit ? hits : misses); }
  void OnWorkerLost(const std::string&) override { ++workers_lost; }
  void OnRejection(const Rejection& rejection) override {
    rejections.push_back(rejection);
  }
  void OnQuarantine(const WorkerQuarantine::Record& worker) override {
    quarantines.push_back(
        absl::StrCat(worker.name, worker.held ? " held" : " released"));
  }

  std::map<QueryEvent, int> events;
  std::vector<double> waits_s;
  std::atomic<int> hits = 0;  // Read while callers wait in the pool.
  std::atomic<int> misses = 0;
  int workers_lost = 0;
  std::vector<Rejection> rejections;
  std::vector<std::string> quarantines;
};

// A worker that offers kCounting, on a host of its own.
inline WorkerInfo Named(const std::string& name, int capacity = 1) {
  return {.name = name,
          .version = "1.2",
          .capacity = capacity,
          .adapters = {{.id = kCounting}},
          .identity = {.host = "host-of-" + name}};
}

class WorkerPoolTest : public ::testing::Test {
 protected:
  explicit WorkerPoolTest(
      const WorkerPoolOptions& options = {.worker_wait_s = 1000})
      : pool_(WithClock(options), &observer_) {}

  // Another worker, and its connection.
  struct Peer {
    RecordingWorker connection;
    WorkerId id = 0;
  };

  void Connect(const WorkerInfo& info, Peer& peer) {
    peer.id = pool_.Connect(info, peer.connection);
  }
  void Connect(const std::string& name, Peer& peer) {
    Connect(Named(name), peer);
  }

  static std::vector<Query> Queries(int count, int first = 0) {
    std::vector<Query> queries;
    for (int i = 0; i < count; ++i) {
      queries.push_back(PairQuery{.max_search_steps = first + i});
    }
    return queries;
  }

  absl::StatusOr<WorkerPool::BatchResult> Run(
      const std::vector<Query>& queries) {
    return pool_.Run(kCounting, context_, queries,
                     {.should_stop = [this] { return stop_.load(); },
                      .failed_unproven = &failed_unproven_});
  }
  std::future<absl::StatusOr<WorkerPool::BatchResult>> RunAside(
      std::vector<Query> queries) {
    return std::async(std::launch::async, [this, queries = std::move(queries)] {
      return Run(queries);
    });
  }

  static std::vector<int64_t> StepsOf(const WorkerPool::BatchResult& result) {
    std::vector<int64_t> steps;
    for (const Answer& answer : result.answers) {
      steps.push_back(std::get<SlicePlanSet>(answer).search_steps);
    }
    return steps;
  }
  void AnswerWith(WorkerId worker, TaskId task, int64_t steps) {
    pool_.OnAnswers(worker, {{task, Answer(CountedAnswer(steps))}});
  }

  WorkerPoolOptions WithClock(WorkerPoolOptions options) {
    options.now_s = [this] { return now_s_.load(); };
    // Tests of new workers set it lower.
    if (options.queue.new_hedge_after_s ==
        WorkQueueOptions().new_hedge_after_s) {
      options.queue.new_hedge_after_s = options.queue.hedge_after_s;
      options.quarantine.first_hold_s = 0;
    }
    return options;
  }

  std::atomic<double> now_s_ = 0;
  std::atomic<bool> stop_ = false;
  bool failed_unproven_ = false;  // By the last run that returned.
  CountingParallelizer parallelizer_;
  const SharedContext context_ =
      std::make_shared<const QueryContext>(CountingContext());
  CountingObserver observer_;
  WorkerPool pool_;
};

class RecordingLog : public QueryLog {
 public:
  void OnQuery(const QueryRecord& record) override {
    const std::lock_guard lock(mutex_);
    for (const QueryAttempt& attempt : record.attempts) {
      attempts.push_back(attempt);
    }
    ++(record.is_cached ? num_cached : num_asked);
  }

  std::vector<QueryAttempt> attempts;
  int num_cached = 0;
  int num_asked = 0;

 private:
  std::mutex mutex_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_DISPATCH_WORKER_POOL_FIXTURE_H_
