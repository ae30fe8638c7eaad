#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_DISPATCH_POOL_WORKERS_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_DISPATCH_POOL_WORKERS_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/parallelizer/query.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram::testing {

inline WorkerInfo InfoOf(const Parallelizer& parallelizer, int capacity) {
  return {.name = "test",
          .capacity = capacity,
          .adapters = {{.id = {parallelizer.name(), parallelizer.version()},
                        .features = parallelizer.features()}}};
}

// A worker of a pool, with one thread, that answers with a parallelizer.
class ThreadWorker : public WorkerConnection {
 public:
  ThreadWorker(WorkerPool& pool, const Parallelizer& parallelizer,
               const WorkerIdentity& identity = {})
      : pool_(pool), parallelizer_(parallelizer) {
    WorkerInfo info = InfoOf(parallelizer, 1);
    info.identity = identity;
    id_ = pool_.Connect(info, *this);
    thread_ = std::thread([this] { Work(); });
  }
  ~ThreadWorker() override {
    pool_.Disconnect(id_);
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

  void Lease(std::vector<LeasedQuery> queries) override {
    const std::lock_guard lock(mutex_);
    for (LeasedQuery& query : queries) waiting_.push_back(std::move(query));
    changed_.notify_all();
  }
  void Cancel(TaskId task) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_,
                  [task](const LeasedQuery& q) { return q.task == task; });
  }
  void AllowSilence(double) override {}
  void Close() override {}

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      const LeasedQuery query = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      pool_.OnAnswers(
          id_, {{query.task, AnswerQuery(parallelizer_,
                                         query.context ? query.context->pairs
                                                       : PairContext(),
                                         query.query, nullptr)}});
      lock.lock();
    }
  }

  WorkerPool& pool_;
  const Parallelizer& parallelizer_;
  WorkerId id_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LeasedQuery> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_DISPATCH_POOL_WORKERS_H_
