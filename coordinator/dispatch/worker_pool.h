#ifndef TANGRAM_COORDINATOR_DISPATCH_WORKER_POOL_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORKER_POOL_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/parallelizer/query.h"
#include "coordinator/dispatch/adapter_census.h"
#include "coordinator/dispatch/answer_cache.h"
#include "coordinator/dispatch/answer_store.h"
#include "coordinator/dispatch/query_key.h"
#include "coordinator/dispatch/query_log.h"
#include "coordinator/dispatch/work_queue.h"

namespace tangram {

// How a worker introduces itself.
struct WorkerInfo {
  std::string name;
  int capacity = 1;  // Queries at once.
  std::vector<AdapterInfo> adapters;
};

struct LeasedQuery {
  TaskId task = 0;
  AdapterId adapter;
  SharedContext context;  // Null if the query refers to none.
  Query query;
};

struct WorkerAnswer {
  TaskId task = 0;
  absl::StatusOr<Answer> answer;
  // In the worker: before the search and in it.
  double waited_s = 0;
  double search_s = 0;
};

// The pool's way to one worker. Calls come one at a time and with the pool
// locked: they must be short and must not call the pool.
class WorkerConnection {
 public:
  virtual ~WorkerConnection() = default;
  virtual void Lease(std::vector<LeasedQuery> queries) = 0;
  // The answer is not needed any more.
  virtual void Cancel(TaskId task) = 0;
  // The worker is given up for lost; nothing else will be called.
  virtual void Close() = 0;
};

// Told what happens to queries, for metrics. Same rules as for
// WorkerConnection.
class WorkerPoolObserver {
 public:
  virtual ~WorkerPoolObserver() = default;
  // A worker that offers it has connected; not the first, maybe.
  virtual void OnAdapter(const std::string& adapter) = 0;
  virtual void OnQuery(const std::string& adapter, QueryEvent event) = 0;
  // A query was leased for the first time after waiting for so long.
  virtual void OnWait(double seconds) = 0;
  virtual void OnCacheLookup(bool hit) = 0;
  virtual void OnWorkerLost(const std::string& name) = 0;
};

struct WorkerPoolOptions {
  WorkQueueOptions queue;
  // How long to wait for a worker that can serve a query before failing.
  // 0: fail at once.
  double worker_wait_s = 30;
  int64_t cache_bytes = int64_t{256} << 20;
  // Seconds of a clock that never goes back.
  std::function<double()> now_s;
  // What is beyond the cache; null: nothing. Must outlive the pool. A query is
  // answered once its answer is in there, so that none is asked again that
  // anybody knew to be answered.
  AnswerStore* store = nullptr;
  // Tenants, who are told apart by BatchShare::key, get each other's answers.
  bool share_answers = false;
};

struct WorkerPoolCounts {
  int workers = 0;
  int draining = 0;
  int slots = 0;
  int64_t pending = 0;
  int64_t leased = 0;
  int64_t cache_entries = 0;
  int64_t cache_bytes = 0;
};

// One worker, for people.
struct PoolWorkerStatus {
  WorkerInfo info;
  bool draining = false;
  int leased = 0;
  int64_t answered = 0;
  double busy_s = 0;  // Σ of its searches.
  double connected_s = 0;
  double silent_s = 0;
};

// The workers that are connected now, the queries that wait for them, and the
// answers that they gave. Equal queries are asked once, now and later. Has no
// threads: the caller's threads wait in Run, and answers come in from whoever
// listens to the workers.
//
// Thread-safe.
class WorkerPool {
 public:
  // `observer` may be null.
  WorkerPool(WorkerPoolOptions options, WorkerPoolObserver* observer);
  ~WorkerPool();  // Waits for the store.

  // For the workers' connections. Every id but that of a connected worker is
  // ignored, so that late messages do no harm. After Disconnect returns,
  // `connection` is not used any more.
  WorkerId Connect(const WorkerInfo& info, WorkerConnection& connection);
  void Disconnect(WorkerId worker);
  void Heard(WorkerId worker);
  void Drain(WorkerId worker);
  void OnAnswers(WorkerId worker, std::vector<WorkerAnswer> answers);
  void OnHandedBack(WorkerId worker, TaskId task);

  // To be called a few times a second: finds silent workers and stragglers.
  void Tick();

  // The adapter of that name; where workers offer several versions, the one
  // with most slots. Waits as long as the options say: kUnavailable, or
  // kCancelled once `should_stop` says so.
  absl::StatusOr<AdapterInfo> FindAdapter(
      absl::string_view name, const std::function<bool()>& should_stop);

  // Names the adapters that FindAdapter would find now: equal ones plan alike.
  Digest OfferedAdapters() const;

  // Names of the adapters that workers offer, sorted. Waits for the first
  // worker as FindAdapter does for one that offers the adapter.
  absl::StatusOr<std::vector<std::string>> AdapterNames(
      const std::function<bool()>& should_stop);

  struct BatchResult {
    std::vector<Answer> answers;  // In the order of the queries.
    int64_t cache_hits = 0;
  };
  // Asks `queries` and waits for the answers. Errors: the first failing query's
  // in order, kCancelled once `should_stop` says so (polled), kUnavailable when
  // no worker is left to serve them. `log` may be null.
  absl::StatusOr<BatchResult> Run(
      const AdapterId& adapter, const SharedContext& context,
      absl::Span<const Query> queries,
      const std::function<void(int done, int total)>& progress,
      const std::function<bool()>& should_stop, QueryLog* log = nullptr,
      const BatchShare& share = {});

  WorkerPoolCounts Counts();
  bool HasWorkers();  // That are not draining.
  std::vector<PoolWorkerStatus> Workers();

 private:
  struct Worker {
    WorkerInfo info;
    WorkerConnection* connection = nullptr;
    bool draining = false;
    double since_s = 0;
    int64_t answered = 0;
    double busy_s = 0;
  };
  // A batch while Run waits for it.
  struct Waiter {
    std::vector<std::optional<absl::StatusOr<Answer>>> slots;
    QueryLog* log = nullptr;
    int num_done = 0;
    size_t prefix = 0;  // Slots before it hold answers.

    bool Failed() const;
    bool Finished() const { return prefix == slots.size() || Failed(); }
    void Deliver(size_t slot, const absl::StatusOr<Answer>& answer);
  };
  struct Task {
    QueryKey key;
    AdapterId adapter;
    std::string tenant;  // Of the QueryScope.
    SharedContext context;
    Query query;
    double asked_s = 0;
    std::vector<std::pair<Waiter*, size_t>> waiting;  // And the slot there.
    std::vector<QueryAttempt> attempts;
  };
  using Lock = std::unique_lock<std::mutex>;

  // Brings stored answers to these queries into the cache, if they answer them.
  // Without the lock.
  void LoadStored(const QueryScope& scope, const SharedContext& context,
                  absl::Span<const Query> queries,
                  absl::Span<const QueryKey> keys);

  // All of these expect the lock to be held.
  int64_t Enqueue(BatchId batch, const QueryScope& scope,
                  const SharedContext& context, absl::Span<const Query> queries,
                  absl::Span<const QueryKey> keys, Waiter& waiter);
  absl::Status Await(Lock& lock, const AdapterId& adapter, Waiter& waiter,
                     const std::function<void(int, int)>& progress,
                     const std::function<bool()>& should_stop);
  void Abandon(BatchId batch, const Waiter& waiter);
  // False if the answer comes too late.
  bool Accept(WorkerId worker, WorkerAnswer& answer);
  void OnKept(const std::vector<TaskId>& tasks);  // Takes the lock itself.
  void SetOffer(const Worker& worker, bool is_offered);
  void LeaseToAll();
  void LeaseTo(WorkerId id);
  void Remove(WorkerId id);
  // An answer of a worker.
  void Deliver(TaskId id, const absl::StatusOr<Answer>& answer);
  void Finish(TaskId id, const absl::StatusOr<Answer>& answer);
  absl::Status NoWorkerFor(absl::string_view adapter) const;
  void Report(const AdapterId& adapter, QueryEvent event);
  void BeginAttempt(Task& task, const std::string& worker);
  // The last one of `worker`, if it goes on; null: there is none.
  static QueryAttempt* FindAttempt(Task& task, const std::string& worker);
  void StampAttempt(TaskId task, const std::string& worker, QueryEvent outcome);
  void EndAttempt(TaskId task, const std::string& worker, QueryEvent outcome);

  const WorkerPoolOptions options_;
  WorkerPoolObserver* const observer_;

  std::mutex mutex_;
  std::condition_variable changed_;  // A batch or the set of workers.
  WorkQueue queue_;
  AnswerCache cache_;
  AdapterCensus census_;  // Of the workers that are not draining.
  // Of its own, so that requests with a known answer wait for nobody.
  mutable std::mutex offered_mutex_;
  Digest offered_adapters_;
  std::map<WorkerId, Worker> workers_;
  std::map<TaskId, Task> tasks_;
  // Of these the queue knows nothing any more: they are answered, but the store
  // has yet to say that it has the answers.
  std::map<TaskId, Answer> being_kept_;
  std::condition_variable all_kept_;
  std::map<QueryKey, TaskId> in_flight_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORKER_POOL_H_
