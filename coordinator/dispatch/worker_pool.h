#ifndef TANGRAM_COORDINATOR_DISPATCH_WORKER_POOL_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORKER_POOL_H_

#include <atomic>
#include <chrono>
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
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/parallelizer/query.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/adapter_census.h"
#include "coordinator/dispatch/answer_cache.h"
#include "coordinator/dispatch/answer_store.h"
#include "coordinator/dispatch/attempt_log.h"
#include "coordinator/dispatch/query_key.h"
#include "coordinator/dispatch/query_log.h"
#include "coordinator/dispatch/work_queue.h"
#include "coordinator/dispatch/worker_connection.h"
#include "coordinator/dispatch/worker_quarantine.h"

namespace tangram {

// An answer that was rejected.
struct Rejection {
  WorkerIdentity worker;
  std::string name;     // As the worker calls itself.
  std::string version;  // Likewise.
  std::string adapter;  // Empty: the lease of the answer is unknown.
  RejectionReason reason = RejectionReason::kNone;
  std::string fault;  // Names worker, adapter, field and what was expected.
};

// Follows a batch of queries. Each may be null.
struct BatchObserver {
  std::function<void(int done, int total)> progress;
  // Polled; the batch ends once it returns true.
  std::function<bool()> should_stop;
  QueryLog* log = nullptr;
  // Set if the batch fails with an error that comes only from workers which
  // never gave a right answer.
  bool* failed_unproven = nullptr;
};

// Receives events of queries and workers, for metrics. Same rules as for
// WorkerConnection.
class WorkerPoolObserver {
 public:
  virtual ~WorkerPoolObserver() = default;
  // Called whenever a worker that offers the adapter connects.
  virtual void OnAdapter(const std::string& adapter) = 0;
  virtual void OnQuery(const std::string& adapter, QueryEvent event) = 0;
  // A query was leased for the first time, after waiting for `seconds`.
  virtual void OnWait(double seconds) = 0;
  virtual void OnCacheLookup(bool hit) = 0;
  virtual void OnWorkerLost(const std::string& name) = 0;
  virtual void OnRejection(const Rejection& rejection) = 0;
  // If `worker` is held, it is in quarantine for its last fault and gets no
  // more queries until held_until_s. Otherwise it was released.
  virtual void OnQuarantine(const WorkerQuarantine::Record& worker) = 0;
};

struct WorkerPoolOptions {
  WorkQueueOptions queue;
  QuarantineOptions quarantine;
  // Seconds to wait for a worker that can serve a query before failing. 0: fail
  // at once.
  double worker_wait_s = 30;
  // The adapters of a complete fleet, which plans with whatever is offered wait
  // for while workers come and go.
  std::set<std::string> usual_adapters;
  // While workers join, a query that only those have failed which never
  // answered any waits so long for others. 0: it fails at once.
  double newcomers_wait_s = 0;
  int64_t cache_bytes = int64_t{256} << 20;
  // Returns the seconds of a clock that never goes back.
  std::function<double()> now_s;
  // The store behind the cache. Null: none. Must outlive the pool. A query
  // counts as answered only once the store has its answer. So no query is asked
  // again after a caller has seen its answer.
  AnswerStore* store = nullptr;
  // Whether tenants, identified by BatchShare::key, share answers.
  bool share_answers = false;
};

// Counts for metrics.
struct WorkerPoolCounts {
  int workers = 0;            // Connected.
  int draining = 0;           // Not in quarantine.
  int quarantined = 0;        // Connected.
  int quarantined_away = 0;   // Not connected.
  int slots = 0;              // Slots of the workers that take leases.
  int64_t pending = 0;        // Queries that no worker holds.
  int64_t leased = 0;         // Queries that some worker holds.
  double oldest_lease_s = 0;  // The longest time that one has been held.
  int64_t cache_entries = 0;
  int64_t cache_bytes = 0;
};

// The status of one worker, for people.
struct PoolWorkerStatus {
  WorkerInfo info;
  bool connected = true;  // False only in quarantine.
  bool draining = false;
  bool quarantined = false;
  double quarantined_s = 0;  // Seconds in quarantine so far.
  // Seconds until the quarantine ends by itself. Infinite: it does not.
  double quarantine_left_s = kInfinity;
  // Faults that this identity is blamed for, over all connections.
  int64_t rejected = 0;
  std::string last_fault;  // The latest, blamed on it or on nobody.
  int leased = 0;          // Queries that it holds now.
  int believed_slots = 0;  // See WorkQueue::believed_slots.
  int64_t answered = 0;    // Accepted answers over this connection.
  double busy_s = 0;       // Sum of the times of its searches.
  double connected_s = 0;
  double silent_s = 0;  // Since its last message.
};

// Holds the connected workers, the queries that wait for them, and the answers
// that they gave. Equal queries in one scope are asked once: they join the task
// in flight, or get the answer from the cache or the store. The pool has no
// threads. Callers wait in Run, and the threads that listen to workers deliver
// answers.
//
// Thread-safe.
class WorkerPool {
 public:
  // Seconds after a worker has joined, or was lost, in which others may still
  // be joining. Workers dial at least every 5 s.
  static constexpr double kJoiningS = 6;

  // `observer` may be null.
  WorkerPool(WorkerPoolOptions options, WorkerPoolObserver* observer);
  ~WorkerPool();  // Waits until the store has settled.

  // Calls for the connections of workers. Ids of workers that are not connected
  // are ignored, so late messages do no harm. After Disconnect returns, the
  // pool no longer uses `connection`.
  WorkerId Connect(const WorkerInfo& info, WorkerConnection& connection);
  void Disconnect(WorkerId worker);
  void Heard(WorkerId worker);
  // Tells a worker without queries how long it may be silent. Call it after
  // each of its messages.
  void AllowSilence(WorkerId worker);
  void Drain(WorkerId worker);
  void OnAnswers(WorkerId worker, std::vector<WorkerAnswer> answers);
  void OnHandedBack(WorkerId worker, TaskId task);
  // Messages of the worker could not be read, or broke the protocol. Call it
  // before Disconnect.
  void OnProtocolFault(WorkerId worker, const absl::Status& fault);
  // A source opens and closes streams so often that it was refused another.
  void OnChurn(const WorkerIdentity& source, const absl::Status& refusal);

  // Finds silent workers and stragglers. Call it a few times a second.
  void Tick();

  // Returns the adapter of that name, in the version that AdapterCensus chooses
  // among those that are not `unfit`. Waits up to worker_wait_s, also while
  // workers in quarantine offer it; whoever `may_wait` elsewhere waits here
  // only while workers join after a start of this pool. Errors: kUnavailable
  // after that; kInvalidArgument with the known names if no worker ever offered
  // it and no more workers may be dialing in; kCancelled once `should_stop`
  // returns true.
  absl::StatusOr<AdapterInfo> FindAdapter(
      absl::string_view name, const std::function<bool()>& should_stop,
      const std::set<AdapterId>& unfit = {}, bool may_wait = false);

  // Returns a digest of the adapters that FindAdapter would find now. Pools
  // with equal digests give the same plans.
  Digest OfferedAdapters() const;

  struct AdapterList {
    // The version of each name that FindAdapter would return. Sorted by name.
    std::vector<AdapterInfo> adapters;
    // Some of the names that only workers in quarantine offer, each with the
    // error of FindAdapter. Sorted.
    std::map<std::string, absl::Status> withheld;
  };
  // Returns the adapters that workers offer and that are not `unfit`. Waits up
  // to worker_wait_s for the first one, or as FindAdapter if the caller
  // `may_wait`. While workers join and leave, as after
  // a restart, waits a few seconds for all usual ones, because the plan should
  // not depend on who comes first. Errors: kUnavailable, kCancelled.
  absl::StatusOr<AdapterList> AllAdapters(
      const std::function<bool()>& should_stop,
      const std::set<AdapterId>& unfit = {}, bool may_wait = false);

  // Returns how often an adapter has come that no worker offered just before.
  int64_t num_arrivals() const {
    return num_arrivals_.load(std::memory_order_relaxed);
  }

  // Returns whether workers offer a version of `name` that is not `unfit`.
  bool IsOffered(absl::string_view name, const std::set<AdapterId>& unfit);
  // Notes that a plan failed with `adapter` and succeeded with another version
  // of it.
  void NoteFailed(const AdapterId& adapter);

  struct BatchResult {
    std::vector<Answer> answers;  // In the order of the queries.
    int64_t cache_hits = 0;
  };
  // Asks `queries` and waits for the answers. Errors: that of the first failing
  // query in order, kCancelled once `should_stop` returns true, and
  // kUnavailable if no worker is left to serve them.
  absl::StatusOr<BatchResult> Run(const AdapterId& adapter,
                                  const SharedContext& context,
                                  absl::Span<const Query> queries,
                                  const BatchObserver& observer = {},
                                  const BatchShare& share = {});

  // O(workers and queries).
  WorkerPoolCounts Counts();
  int NumWorkers();  // Connected.
  // Returns whether any worker takes leases.
  bool HasWorkers();
  // Returns the connected workers, then the others in quarantine.
  std::vector<PoolWorkerStatus> Workers();

  // Ends the quarantine of the worker of that identity, as ToString gives it.
  // If there is no such worker, connected or in quarantine, ends that of the
  // workers of that name. kNotFound if none is in quarantine.
  absl::Status ReleaseWorker(absl::string_view name_or_identity);

 private:
  // The question of a task. It never changes, so it is read without the lock.
  struct Asked {
    AdapterId adapter;
    std::string tenant;  // QueryScope::tenant.
    SharedContext context;
    Query query;
    std::string bytes;  // Question::bytes; empty without a store.

    const PairContext* pairs() const {
      return context == nullptr ? nullptr : &context->pairs;
    }
    absl::Status Check(const Answer& answer) const;
  };
  // A task that another worker has answered.
  struct Overtaken {
    std::shared_ptr<const Asked> asked;
    double leased_s = 0;
  };
  // An answer to such a task.
  struct LateAnswer {
    AdapterId adapter;
    double took_s = 0;
    RejectionReason rejection = RejectionReason::kNone;
    std::string fault;  // If it is rejected.
  };
  struct Worker {
    WorkerInfo info;
    WorkerConnection* connection = nullptr;
    bool draining = false;
    bool quarantined = false;
    // This connection alone is in quarantine, after `num_faults` faults; the
    // others of its identity are sound.
    bool is_quarantined_alone = false;
    int num_faults = 0;
    bool is_offered = false;  // Counted in the census.
    double since_s = 0;
    int64_t answered = 0;
    double last_answer_s = 0;
    double busy_s = 0;
    // Tasks in which it was overtaken lately, at most kMaxOvertaken.
    std::map<TaskId, Overtaken> overtaken;
  };
  // A batch while Run waits for it.
  struct Waiter {
    std::vector<std::optional<absl::StatusOr<Answer>>> slots;
    QueryLog* log = nullptr;
    int num_done = 0;
    size_t prefix = 0;          // All slots before this one hold answers.
    std::set<size_t> unproven;  // Slots with an error of unproven workers.

    bool Failed() const;
    bool Finished() const { return prefix == slots.size() || Failed(); }
    void Deliver(size_t slot, absl::StatusOr<Answer> answer);
  };
  // A connection that was lost while it held queries.
  struct Loss {
    WorkerQuarantine::Fault fault;
    double lost_s = 0;
    bool is_counted = false;
  };
  // An error that is an answer, if it is true.
  struct Verdict {
    absl::Status error;
    bool is_proven = false;         // The worker has answered other queries.
    WorkerQuarantine::Fault fault;  // If another worker contradicts it.
    double given_s = 0;
  };
  struct Task {
    QueryKey key;
    std::shared_ptr<const Asked> asked;
    double asked_s = 0;
    std::vector<std::pair<Waiter*, size_t>> waiting;  // (waiter, slot).
    AttemptLog attempts;
    // Workers whose answers were rejected or are not believed yet. Their new
    // connections do not get the task.
    std::set<WorkerIdentity> rejected;
    double rejected_s = 0;  // When the last one joined.
    double first_rejected_s = 0;
    // Damaged answers that came while these workers held the task.
    std::map<WorkerIdentity, int> damaged;
    // Errors that are faults once another worker has answered.
    std::vector<WorkerQuarantine::Fault> errors;
    // Verdicts that only their workers have given.
    std::map<WorkerIdentity, Verdict> verdicts;
    // Workers that handed the task back.
    std::map<WorkerIdentity, WorkerQuarantine::Fault> handed_back;
    // The last lost connection of each worker that was lost with the task.
    std::map<WorkerIdentity, std::shared_ptr<Loss>> losses;
    // The worker whose loss ended the task. Empty: none did.
    std::optional<WorkerIdentity> given_up_by;
    std::string last_fault;  // The fault of the last rejected answer.

    // Returns why it fails if nobody answers. `is_sole`: nobody else can be
    // asked; false: the others stay silent.
    absl::Status Failure(bool is_sole) const;
    void NoteRejected(const WorkerIdentity& worker, double now_s);
  };

  // "worker w1 (tangram 1.2)".
  static std::string Text(absl::string_view name, absl::string_view version);
  static std::string Text(const WorkerInfo& worker) {
    return Text(worker.name, worker.version);
  }
  static WorkerQuarantine::Fault FaultOf(const WorkerInfo& worker,
                                         absl::string_view text);
  // A fault in an answer to a query of `adapter`.
  static WorkerQuarantine::Fault FaultOf(const WorkerInfo& worker,
                                         const AdapterId& adapter,
                                         absl::string_view text);
  // Likewise of a connection.
  WorkerQuarantine::Fault FaultOf(WorkerId worker, absl::string_view text) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  WorkerQuarantine::Fault FaultOf(WorkerId worker, const AdapterId& adapter,
                                  absl::string_view text) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Copies stored answers to these queries into the cache. Drops answers that
  // fail CheckAnswer from the store.
  void LoadStored(const QueryScope& scope, const SharedContext& context,
                  absl::Span<const Query> queries,
                  absl::Span<const Question> questions)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Marks the wrong ones among `answers` as rejected. Returns those that come
  // too late and are right or wrong; errors are neither. It runs without the
  // lock because it takes time.
  std::vector<LateAnswer> Check(WorkerId worker,
                                std::vector<WorkerAnswer>& answers)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteLate(WorkerId worker, const LateAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the accepted answers to `tasks` that the store has settled.
  void OnKept(absl::Span<const TaskId> tasks,
              absl::Span<const AnsweredQuestion> answers)
      ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t Enqueue(BatchId batch, const QueryScope& scope,
                  const SharedContext& context, absl::Span<const Query> queries,
                  std::vector<Question> questions, Waiter& waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `began_s`: from before the queries were leased.
  absl::Status Await(const AdapterId& adapter, double began_s, Waiter& waiter,
                     const BatchObserver& observer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Abandon(BatchId batch, const Waiter& waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Completes the task. Returns false if the answer comes too late.
  bool Accept(WorkerId worker, WorkerAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records the fault of the worker and queues the query for other workers.
  void Reject(WorkerId worker, const WorkerAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether a worker, connected or in quarantine, has this identity.
  bool IsSource(absl::string_view text) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Queues the query for another worker, and fails it if there is none.
  void NoteVerdict(WorkerId worker, const WorkerAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blames the workers that failed to answer `task` for what the accepted
  // answer of `worker` shows.
  void BlameOthers(Task& task, const WorkerIdentity& worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Rejects an answer whose bytes are damaged, so that its lease is unknown.
  void RejectDamaged(WorkerId worker, const WorkerAnswer& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps `worker` from the tasks in which its answer was refused before.
  void ExcludeFromRejected(WorkerId id, const Worker& worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether another connection of this identity, not in quarantine, has
  // answered.
  bool HasSoundBeside(const WorkerQuarantine::Fault& fault) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts a fault of one connection while the others of its identity are
  // sound. Puts it in quarantine if it is one too many.
  void BlameConnection(const WorkerQuarantine::Fault& fault)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts that the worker was of no use; see WorkerQuarantine::NoteUseless.
  void BlameUseless(const WorkerQuarantine::Fault& fault)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blames the workers that held `task` for much longer than `worker` took to
  // answer it.
  void BlameIdle(const Task& task, WorkerId worker,
                 const std::vector<WorkerId>& others)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes back the queries that were held for too long, and ends those that
  // nobody answers.
  void RevokeOverdue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndStale(TaskId task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the quarantines whose time is up, and those of workers without which
  // no worker offers an adapter.
  void EndHolds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsNeeded(const WorkerIdentity& worker) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lets the connections of a released worker take leases again, and those that
  // are in quarantine alone if `also_alone`.
  void ResumeAll(const WorkerIdentity& worker, bool also_alone)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts a fault, and puts the worker in quarantine if it is one too many.
  void Blame(const WorkerQuarantine::Fault& fault)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReportRejection(const WorkerQuarantine::Fault& fault,
                       const std::string& adapter, RejectionReason reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the seconds without an answer after which nobody waits for a worker
  // to answer a query of `adapter` that it holds.
  double PatienceWith(WorkerId worker, const AdapterId& adapter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether `worker` has answered nothing since `since_s` for so long.
  bool IsSilent(const Worker& worker, double since_s, double patience_s) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether a verdict on the task, or the failure of max_losses
  // workers, stands because all others that could be asked are silent.
  bool IsJudged(TaskId id, const Task& task) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the verdicts of a worker.
  void WithdrawVerdicts(const WorkerIdentity& worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether a query that nobody else can be asked may soon be answered
  // by a worker that joins.
  bool AwaitsNewcomers(const Task& task) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns how many of these sources have given a right answer.
  int64_t NumProven(const std::set<WorkerIdentity>& sources) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether all sources that failed to answer the query never answered
  // any.
  bool IsUnproven(const Task& task) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes that a single source says that an adapter does not know a model.
  void NoteLoneVerdict(const Task& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Changes OfferedAdapters if the worker may contradict a lone verdict, so
  // that no plan without the adapter is taken for one with it.
  void ForgetLoneVerdicts(const WorkerInfo& worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fails the queries with rejected answers that no other worker can answer,
  // and those for which IsJudged.
  void FailDisputed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Revokes the leases of `worker`.
  void TakeBack(WorkerId worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Quarantine(const WorkerIdentity& worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds the worker to the census if it takes leases, else removes it.
  // Remembers the names that it offers.
  void UpdateOffer(Worker& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaseToAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaseTo(WorkerId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether a connected worker of this identity has answered since
  // then.
  bool HasAnsweredSince(const WorkerIdentity& identity, double since_s) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes that a worker was lost with `tasks`. Blames it if its source never
  // answered a query and others that have are there.
  void NoteLoss(const WorkerInfo& worker, const std::vector<TaskId>& tasks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(WorkerId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Caches the answer of a worker and finishes the task.
  void Deliver(TaskId id, Answer answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(TaskId id, absl::StatusOr<Answer> answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoWorkerFor(absl::string_view adapter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether all workers of `adapter` are in quarantine while others
  // offer another version of it.
  bool IsSuperseded(const AdapterId& adapter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether all workers of `adapter` have been silent since `since_s`
  // while a worker of another version, which may take its place, is idle.
  bool IsSilentVersion(const AdapterId& adapter, double since_s) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes that `adapter` is, and returns the error.
  absl::Status SilentVersion(const AdapterId& adapter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Publishes the digest of the census.
  void UpdateOfferedAdapters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the names of the connected workers in quarantine that offer
  // `adapter`.
  std::vector<std::string> QuarantinedFor(absl::string_view adapter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether a worker is connected that offers `adapter`, also one in
  // quarantine.
  bool HasWorkerFor(absl::string_view adapter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether a usual adapter is missing and workers come and go.
  bool MayBecomeComplete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether no worker has offered `adapter` and none is dialing in.
  bool IsUnknown(absl::string_view adapter) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the time until which a plan waits for a parallelizer from now on.
  double GiveUpS(bool may_wait) const;
  void Report(const AdapterId& adapter, QueryEvent event);
  void BeginAttempt(Task& task, WorkerId worker)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAttempt(TaskId task, WorkerId worker, QueryEvent outcome)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Tasks of a connection whose late answers are known. One that is slow in all
  // its slots holds more, but a few answers show as much.
  static constexpr size_t kMaxOvertaken = 16;

  // The interval at which waiting calls check the clock and should_stop.
  static constexpr std::chrono::milliseconds kPollInterval{50};

  const WorkerPoolOptions options_;
  WorkerPoolObserver* const observer_;

  Mutex mutex_;
  ConditionVariable changed_;  // Signals changes of a batch or of the workers.
  WorkQueue queue_ ABSL_GUARDED_BY(mutex_);
  AnswerCache cache_ ABSL_GUARDED_BY(mutex_);
  WorkerQuarantine quarantine_ ABSL_GUARDED_BY(mutex_);
  // The adapters of the workers that take leases.
  AdapterCensus census_ ABSL_GUARDED_BY(mutex_);
  // Names that workers offered, at most kMaxKnownAdapters.
  std::set<std::string> ever_offered_ ABSL_GUARDED_BY(mutex_);
  const double began_s_;
  std::atomic<int64_t> num_arrivals_ = 0;
  double last_join_s_ ABSL_GUARDED_BY(mutex_) = 0;
  // The sources of lone verdicts, by adapter, and how often others of the same
  // adapter have joined since.
  std::map<AdapterId, WorkerIdentity> lone_verdicts_ ABSL_GUARDED_BY(mutex_);
  int64_t verdict_era_ ABSL_GUARDED_BY(mutex_) = 0;
  double last_loss_s_ ABSL_GUARDED_BY(mutex_) = 0;
  double forgot_s_ ABSL_GUARDED_BY(mutex_) = 0;  // Old entries of overtaken.
  // A separate lock, so that requests with a known answer do not wait for
  // mutex_.
  mutable Mutex offered_mutex_;
  Digest offered_adapters_ ABSL_GUARDED_BY(offered_mutex_);
  std::map<WorkerId, Worker> workers_ ABSL_GUARDED_BY(mutex_);
  size_t num_offered_ ABSL_GUARDED_BY(mutex_) = 0;  // Workers with is_offered.
  absl::node_hash_map<TaskId, Task> tasks_ ABSL_GUARDED_BY(mutex_);
  // Tasks in the queue with an answer that was rejected or is not believed yet.
  std::set<TaskId> disputed_ ABSL_GUARDED_BY(mutex_);
  // Tasks that are answered and gone from the queue. They wait for the store to
  // confirm that it has the answers.
  absl::flat_hash_set<TaskId> being_kept_ ABSL_GUARDED_BY(mutex_);
  ConditionVariable all_kept_;
  absl::flat_hash_map<QueryKey, TaskId> in_flight_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORKER_POOL_H_
