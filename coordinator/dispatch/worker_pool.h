#ifndef TANGRAM_COORDINATOR_DISPATCH_WORKER_POOL_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORKER_POOL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/parallelizer/query.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/adapter_census.h"
#include "coordinator/dispatch/answer_cache.h"
#include "coordinator/dispatch/answer_store.h"
#include "coordinator/dispatch/attempt_log.h"
#include "coordinator/dispatch/query_key.h"
#include "coordinator/dispatch/query_log.h"
#include "coordinator/dispatch/work_queue.h"
#include "coordinator/dispatch/worker_quarantine.h"

namespace tangram {

// How a worker introduces itself.
struct WorkerInfo {
  std::string name;
  std::string version;  // Of Tangram; empty: not told.
  int capacity = 1;     // Queries at once.
  std::vector<AdapterInfo> adapters;
};

struct LeasedQuery {
  TaskId task = 0;
  AdapterId adapter;
  SharedContext context;  // Null if the query refers to none.
  Query query;
};

// Why an answer is not accepted. Every one is the worker's fault.
enum class RejectionReason {
  kNone,
  kDigest,   // Not the bytes that the worker sent.
  kMessage,  // Cannot be read.
  kLaw,      // CheckAnswer refuses it.
};
inline constexpr RejectionReason kRejectionReasons[] = {
    RejectionReason::kDigest, RejectionReason::kMessage, RejectionReason::kLaw};

// "digest"; as used in metrics. "" for kNone.
const char* NameOf(RejectionReason reason);

struct WorkerAnswer {
  TaskId task = 0;
  // The worker's error, or what is wrong with the answer if it is rejected.
  absl::StatusOr<Answer> answer;
  // In the worker: before the search and in it.
  double waited_s = 0;
  double search_s = 0;
  RejectionReason rejection = RejectionReason::kNone;  // By whoever read it.
};

// An answer that was rejected.
struct Rejection {
  WorkerIdentity worker;
  std::string adapter;  // Empty: the answer is to no question.
  RejectionReason reason = RejectionReason::kNone;
  std::string fault;  // Names worker, adapter, field and what was expected.
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
  virtual void OnRejection(const Rejection& rejection) = 0;
  // The worker is not asked any more, for the fault told last, or is again.
  virtual void OnQuarantine(const WorkerIdentity& worker, bool held) = 0;
};

struct WorkerPoolOptions {
  WorkQueueOptions queue;
  QuarantineOptions quarantine;
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
  int quarantined = 0;       // Connected ones.
  int quarantined_away = 0;  // Those that are not connected.
  int slots = 0;
  int64_t pending = 0;
  int64_t leased = 0;
  int64_t cache_entries = 0;
  int64_t cache_bytes = 0;
};

// One worker, for people.
struct PoolWorkerStatus {
  WorkerInfo info;
  bool connected = true;  // False only in quarantine.
  bool draining = false;
  bool quarantined = false;
  double quarantined_s = 0;  // For how long.
  int64_t rejected = 0;      // Wrong answers, over all its connections.
  std::string last_fault;
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
  // kCancelled once `should_stop` says so. Does not wait for what no worker
  // ever offered (kInvalidArgument, with the names there are) unless workers
  // may still be dialing in, nor if only workers in quarantine offer it
  // (kUnavailable).
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
  bool HasWorkers();  // That take leases.
  // The connected workers, then those in quarantine that are not.
  std::vector<PoolWorkerStatus> Workers();

  // Asks the workers of that name again. kNotFound if none is in quarantine.
  absl::Status ReleaseWorker(absl::string_view name);

 private:
  struct Worker {
    WorkerInfo info;
    WorkerConnection* connection = nullptr;
    bool draining = false;
    bool quarantined = false;
    bool is_offered = false;  // In the census.
    double since_s = 0;
    int64_t answered = 0;
    double busy_s = 0;

    WorkerIdentity identity() const { return {info.name, info.version}; }
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
  // What is asked. Never changes, so it is read without the lock.
  struct Asked {
    AdapterId adapter;
    std::string tenant;  // Of the QueryScope.
    SharedContext context;
    Query query;

    const PairContext* pairs() const {
      return context == nullptr ? nullptr : &context->pairs;
    }
    absl::Status Check(const Answer& answer) const;
  };
  struct Task {
    QueryKey key;
    std::shared_ptr<const Asked> asked;
    double asked_s = 0;
    std::vector<std::pair<Waiter*, size_t>> waiting;  // And the slot there.
    AttemptLog attempts;
    int num_rejections = 0;
    std::string last_fault;  // Of a rejected answer.
  };

  // Brings stored answers to these queries into the cache, if they answer them.
  void LoadStored(const QueryScope& scope, const SharedContext& context,
                  absl::Span<const Query> queries,
                  absl::Span<const QueryKey> keys) ABSL_LOCKS_EXCLUDED(mutex_);
  // Marks the wrong ones among `answers` as rejected. This takes time, so it is
  // done without the lock.
  void Check(WorkerId worker, std::vector<WorkerAnswer>& answers)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void OnKept(const std::vector<TaskId>& tasks) ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t Enqueue(BatchId batch, const QueryScope& scope,
                  const SharedContext& context, absl::Span<const Query> queries,
                  absl::Span<const QueryKey> keys, Waiter& waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Await(const AdapterId& adapter, Waiter& waiter,
                     const std::function<void(int, int)>& progress,
                     const std::function<bool()>& should_stop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Abandon(BatchId batch, const Waiter& waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // False if the answer comes too late.
  bool Accept(WorkerId worker, WorkerAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blames the worker and has the query asked elsewhere.
  void Reject(WorkerId worker, const WorkerAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the queries whose answers were rejected and that nobody else can
  // answer.
  void FailDisputed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the leases of `worker` back.
  void TakeBack(WorkerId worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Quarantine(const WorkerIdentity& worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps the census in step with whether the worker takes leases.
  void UpdateOffer(Worker& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaseToAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaseTo(WorkerId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(WorkerId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // An answer of a worker.
  void Deliver(TaskId id, const absl::StatusOr<Answer>& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(TaskId id, const absl::StatusOr<Answer>& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoWorkerFor(absl::string_view adapter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Names of the connected workers in quarantine that offer `adapter`.
  std::vector<std::string> QuarantinedFor(absl::string_view adapter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether no worker will offer `adapter`, as far as can be told.
  bool IsUnknown(absl::string_view adapter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Report(const AdapterId& adapter, QueryEvent event);
  void BeginAttempt(Task& task, WorkerId worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAttempt(TaskId task, WorkerId worker, QueryEvent outcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const WorkerPoolOptions options_;
  WorkerPoolObserver* const observer_;

  Mutex mutex_;
  ConditionVariable changed_;  // A batch or the set of workers.
  WorkQueue queue_ ABSL_GUARDED_BY(mutex_);
  AnswerCache cache_ ABSL_GUARDED_BY(mutex_);
  WorkerQuarantine quarantine_ ABSL_GUARDED_BY(mutex_);
  // Of the workers that take leases.
  AdapterCensus census_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> ever_offered_ ABSL_GUARDED_BY(mutex_);
  double last_join_s_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of its own, so that requests with a known answer wait for nobody.
  mutable Mutex offered_mutex_;
  Digest offered_adapters_ ABSL_GUARDED_BY(offered_mutex_);
  std::map<WorkerId, Worker> workers_ ABSL_GUARDED_BY(mutex_);
  std::map<TaskId, Task> tasks_ ABSL_GUARDED_BY(mutex_);
  // Tasks of which an answer was rejected.
  std::set<TaskId> disputed_ ABSL_GUARDED_BY(mutex_);
  // Of these the queue knows nothing any more: they are answered, but the store
  // has yet to say that it has the answers.
  std::map<TaskId, Answer> being_kept_ ABSL_GUARDED_BY(mutex_);
  ConditionVariable all_kept_;
  std::map<QueryKey, TaskId> in_flight_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORKER_POOL_H_
