#ifndef TANGRAM_COORDINATOR_DISPATCH_WORK_QUEUE_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORK_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/functional/function_ref.h"
#include "common/base/heartbeat.h"
#include "common/parallelizer/query.h"
#include "coordinator/dispatch/answer_times.h"
#include "coordinator/dispatch/source_records.h"
#include "coordinator/dispatch/worker_identity.h"

namespace tangram {

using WorkerId = int64_t;
using BatchId = int64_t;
using TaskId = int64_t;

struct WorkQueueOptions {
  // A worker that stays silent for longer than this is lost, unless it was
  // allowed more; see AllowSilence.
  double silence_limit_s = kHeartbeatS + kMaxDelayS;
  // Messages a second of all workers together, if none has a task.
  double max_idle_beats_per_s = 25;
  // An idle worker also takes a task that another one has held for longer, or
  // for much longer than such tasks took lately; see Patience.
  double hedge_after_s = 30;
  // It takes a task so soon from a worker whose source has never answered one:
  // nobody knows whether that one ever will.
  double new_hedge_after_s = 1;
  // A new connection is believed to have so many slots. Each right answer adds
  // one, up to the slots that it says it has; see NoteSetback.
  int first_slots = 4;
  // A task that one worker has held for so long goes to another one even if
  // none is idle. It ends unanswered after four times as long; see Overdue.
  double task_limit_s = 900;
  // A task is given up after this many workers were lost while running it, or
  // one so many times if no other can take it, because it probably kills them;
  // see IsHopeless.
  int max_losses = 3;
  // While no trusted worker can take a task, it is given up no earlier than so
  // long after its first loss: one may come, or come back.
  double give_up_after_s = 60;
  // The shortest pause of a source whose connections end again and again.
  double first_pause_s = 1;
};

// The share of a batch. All keys have equal shares of the workers. The batches
// of a key divide its share in proportion to 2^priority.
struct BatchShare {
  std::string key;   // The tenant, for example.
  int priority = 0;  // Clamped to -5 … 5.
  // The caller tries again later: what only workers say that never gave a right
  // answer, and the lack of a parallelizer, are kUnavailable to it.
  bool may_wait = false;

  double weight() const;  // 2^priority.
};

// Assigns tasks to workers. Tasks wait in batches and are leased to workers,
// which complete them, hand them back, or are lost. The queue does not know the
// content of tasks. The time is an argument, in seconds from any origin, and
// must never go back.
//
// Workers are judged by identity, because one may have many connections and may
// open new ones at any time. (A WorkerId is one connection.) So a worker that
// was lost with a task takes it again only after the others, and a task has one
// holder of each identity.
//
// Batches take turns by their shares (stride scheduling: Waldspurger and Weihl,
// 1995), so a small batch does not wait for a large one. While many tasks wait,
// a quick worker is leased more than it can run at once, so that short tasks do
// not wait for the network. When few wait, it is leased only as many as it can
// run, so that no task is left behind in the queue of a slow worker. How many
// it can run is what it has shown, not what it says; see NoteSetback.
//
// Not thread-safe.
class WorkQueue {
 public:
  // The most tasks that a worker is leased in advance, per slot.
  static constexpr int kMostPrefetch = 63;

  explicit WorkQueue(const WorkQueueOptions& options)
      : options_(options),
        sources_(/*max_pause_s=*/options.hedge_after_s, options.first_pause_s) {
  }

  // `capacity`: tasks that the worker runs at once.
  WorkerId AddWorker(std::set<AdapterId> adapters, int capacity, double now_s,
                     const WorkerIdentity& identity = {});
  // The worker sent something at `now_s`.
  void Heard(WorkerId worker, double now_s);
  // Allows a worker without tasks a silence from its last message on, until it
  // gets a task: the longer, the more workers there are. Returns the seconds,
  // kHeartbeatS … kMaxSilenceS; none if it has tasks or is not there.
  std::optional<double> AllowSilence(WorkerId worker);
  // Stops leasing to `worker` for good. It still completes what it holds.
  void Drain(WorkerId worker);
  struct GivenUp {
    TaskId task = 0;
    int num_losses = 0;
  };
  struct LostLeases {
    std::vector<TaskId> requeued;   // Back at the front of their batches.
    std::vector<GivenUp> given_up;  // Removed.
    std::vector<TaskId> hedged;     // Still held by another worker.
  };
  LostLeases RemoveWorker(WorkerId worker, double now_s);
  // Stops leasing to `worker` until Resume. Returns the tasks that it held.
  // Each is now at the front of its batch or held by another worker, and does
  // not count as lost.
  std::vector<TaskId> Suspend(WorkerId worker);
  void Resume(WorkerId worker);
  // Returns the workers that are lost, by id.
  std::vector<WorkerId> SilentWorkers(double now_s);

  BatchId OpenBatch(const AdapterId& adapter, const BatchShare& share = {});
  TaskId AddTask(BatchId batch);
  // Adds a task of another batch to `batch`, which wants the same answer.
  void JoinTask(BatchId batch, TaskId task);

  struct Lease {
    WorkerId worker = 0;
    TaskId task = 0;
    auto operator<=>(const Lease&) const = default;
  };
  struct ClosedBatch {
    std::vector<TaskId> dropped;  // Tasks of no other batch; removed.
    std::vector<Lease> revoked;   // The leases among them.
  };
  ClosedBatch CloseBatch(BatchId batch);

  // Returns whether there is a task that some worker may be leased.
  bool MayLease(double now_s) const;
  // Leases further tasks to `worker` and returns them.
  std::vector<TaskId> LeaseTo(WorkerId worker, double now_s);
  struct Overdue {
    std::vector<Lease> revoked;  // Back at the front of their batches.
    std::vector<TaskId> stale;   // Asked for so long that they should end.
  };
  // Takes tasks from workers that have held them for too long, if another
  // source could be leased them; see TimeLimit. Those workers come after others
  // for the task. O(tasks with holders).
  Overdue RevokeOverdue(double now_s);
  // Returns the workers in the order in which new tasks should be leased: those
  // that were overtaken least come first; among equals, those whose source has
  // answered, and then the quicker ones.
  std::vector<WorkerId> LeaseOrder(double now_s) const;

  // Removes a task with a right answer, and sets `others` to the other workers
  // that hold it, which need not finish it. Returns false if `worker` does not
  // hold `task` (any more), because the answer came too late.
  bool Complete(WorkerId worker, TaskId task, double now_s,
                std::vector<WorkerId>* others);
  // Moves the task back to the front of its batch, unless another worker holds
  // it. Workers of another identity come first then. Returns false if `worker`
  // does not hold `task`.
  bool HandBack(WorkerId worker, TaskId task, double now_s);
  // Moves the task back likewise, and never leases it to `worker` again.
  bool Refuse(WorkerId worker, TaskId task);
  // Never leases the task, which the worker does not hold, to `worker`.
  void Exclude(WorkerId worker, TaskId task);
  // Notes a right answer of a worker that was overtaken. It took `took_s`.
  void NoteLateAnswer(WorkerId worker, const AdapterId& adapter, double took_s,
                      double now_s);
  // Removes a task without an answer. The workers that hold it were silent
  // about it, which counts as overtaken.
  void GiveUp(TaskId task, double now_s);

  bool Holds(WorkerId worker, TaskId task) const;
  bool IsHeld(TaskId task) const { return !tasks_.at(task).holders.empty(); }
  std::vector<WorkerId> HoldersOf(TaskId task) const;
  // Returns whether a worker that offers `adapter` takes or holds leases.
  bool CanServe(const AdapterId& adapter) const;
  // Returns whether a worker that offers `adapter` takes leases and has a free
  // slot.
  bool HasFreeSlot(const AdapterId& adapter) const;
  // Returns whether a worker holds `task` or could be leased it.
  bool CanServe(TaskId task) const;
  // Returns whether `worker` does.
  bool CanServe(WorkerId worker, TaskId task) const;
  // Returns whether a worker whose source has answered before could be leased
  // `task`.
  bool HasProvenTaker(TaskId task) const;
  const SourceRecords& sources() const { return sources_; }
  // Returns how long the tasks of `adapter` took that `worker` answered; while
  // these are few, those that its source did, over all its connections.
  Took TookBy(WorkerId worker, const AdapterId& adapter) const;
  // Tasks that no worker holds.
  int64_t num_pending() const { return num_pending_; }
  int64_t num_leased() const;
  int num_leased_to(WorkerId worker) const;
  // Returns the longest time that a worker has held a task; 0: none is held.
  double OldestLeaseS(double now_s) const;
  // The tasks that `worker` holds, in the order of leasing.
  const std::vector<TaskId>& LeasesOf(WorkerId worker) const;
  double last_heard_s(WorkerId worker) const;
  // Slots of the workers that take leases, as they say; of a worker that never
  // had so many tasks at once, at most kMostUnprovenSlots.
  int num_slots() const { return num_shown_slots_; }
  // Slots that a worker is believed to have.
  int believed_slots(WorkerId worker) const {
    return workers_.at(worker).slots();
  }

  // Aborts if the state is inconsistent.
  void CheckInvariants() const;

 private:
  // Slots of a new worker that num_slots counts before it has used them: as
  // many as most machines have.
  static constexpr int kMostUnprovenSlots = 64;

  struct Holder {
    WorkerId worker = 0;
    double since_s = 0;
  };
  // Leases of one identity that ended without an answer.
  struct Setbacks {
    int count = 0;
    int num_losses = 0;  // Those in which the worker was lost.
    double last_s = 0;
  };
  struct Task {
    std::vector<BatchId> batches;  // If pending, it waits in the first one.
    std::vector<Holder> holders;   // Empty: pending.
    double hedge_at_s = 0;         // HedgeAt for the least patience.
    std::set<WorkerId> refused;    // Workers that must not get it again.
    std::map<WorkerIdentity, Setbacks> setbacks;
    std::optional<double> first_lost_s;
    double first_leased_s = 0;
    int num_overdue = 0;  // Leases that were revoked for their age.
  };
  struct Batch {
    AdapterId adapter;
    std::string share_key;
    double weight = 1;     // 2^priority.
    double next_turn = 0;  // On the scale of turn_.
    std::deque<TaskId> pending;
    absl::flat_hash_set<TaskId> tasks;
  };
  // The answers that came in one message; see NotePace.
  struct Message {
    double at_s = 0;
    double took_s = 0;
    std::optional<double> pace_before_s;
    int num_answers = 0;
    double weight_before = 1;
  };
  struct Worker {
    WorkerIdentity identity;
    std::set<AdapterId> adapters;
    int capacity = 0;  // Its own word.
    int window = 0;    // Slots that it has shown; see NoteSetback.
    // Tasks in a row in which another connection of its identity overtook it,
    // and when the pause after that ends.
    int num_overtaken_beside = 0;
    double paused_until_s = 0;
    double last_heard_s = 0;
    double lost_at_s = 0;  // If it stays silent.
    double look_at_s = 0;  // Not after lost_at_s; see looks_.
    bool draining = false;
    bool suspended = false;
    Message last_message;
    std::optional<double> pace_s;  // Recent mean seconds per task and slot.
    // The tasks of each adapter that it answered.
    std::map<AdapterId, Took> took;
    std::vector<TaskId>
        leases;  // In order of leasing, which is that of starting.

    bool takes_leases() const { return !draining && !suspended; }
    int slots() const { return std::min(capacity, window); }
    int shown_slots() const {
      return std::min(capacity, std::max(window, kMostUnprovenSlots));
    }
    bool has_free_slot() const {
      return takes_leases() && static_cast<int>(leases.size()) < slots();
    }
  };

  void CountSlots(const Worker& worker, int sign);
  void SetLostAt(WorkerId id, Worker& worker, double at_s);
  void SetWindow(Worker& worker, int window);
  void NoteSetback(WorkerId worker);
  void NoteOvertaken(const Holder& slower, const WorkerIdentity& by,
                     double now_s);
  double TimeLimit(const Task& task) const;
  void NotePace(Worker& worker, const Task& task, WorkerId id);
  void NoteTook(Worker& worker, const AdapterId& adapter, double took_s,
                double now_s);
  size_t LeaseLimit(const Worker& worker) const;
  bool MayTry(const Worker& paused, double until_s, double now_s) const;
  bool IsPausedBeside(WorkerId worker, double now_s) const;
  bool TakePending(WorkerId id, double now_s, TaskId* task);
  bool MayHave(WorkerId worker, TaskId task) const;
  const AdapterId& AdapterOf(const Task& task) const;
  bool IsInTurn(const Worker& worker, const Task& task, double now_s) const;
  bool AnyTaker(const Task& task,
                absl::FunctionRef<bool(const WorkerIdentity&)> wanted) const;
  bool HasHolderOf(const Task& task, const WorkerIdentity& identity) const;
  bool HasOther(const Task& task, const WorkerIdentity& identity) const;
  bool IsHopeless(const Task& task, const WorkerIdentity& lost,
                  double now_s) const;
  void UpdateTakers(WorkerId id, const Worker& worker);
  void SetTakesLeases(WorkerId worker, bool draining, bool suspended);
  double Stride(const Batch& batch) const;
  bool FindStraggler(WorkerId worker, double now_s, TaskId* task) const;
  void Hold(WorkerId worker, TaskId task, double now_s);
  void SetHolders(TaskId id, std::vector<Holder> holders);
  double Patience(WorkerId idle, const AdapterId& adapter) const;
  double HedgeAt(const Task& task, double patience_s) const;
  bool Release(WorkerId worker, TaskId task);
  bool PutBack(WorkerId worker, TaskId task);
  void QueueFirst(TaskId task);
  void Forget(TaskId task);

  const WorkQueueOptions options_;
  std::map<WorkerId, Worker> workers_;
  // (look_at_s, worker) of all workers. Most are heard again before lost_at_s,
  // which moves then; the entry does so only when its time has come.
  std::set<std::pair<double, WorkerId>> looks_;
  // The workers that take leases, by what they offer and who they are.
  std::map<AdapterId, std::map<WorkerIdentity, std::set<WorkerId>>> takers_;
  SourceRecords sources_;
  AnswerTimes times_;
  std::map<BatchId, Batch> batches_;
  absl::node_hash_map<TaskId, Task> tasks_;
  // (hedge_at_s, task) of the tasks with holders.
  std::set<std::pair<double, TaskId>> hedges_;
  int64_t num_pending_ = 0;
  // Sums of slots() and shown_slots() of the workers that take leases.
  int num_slots_ = 0;
  int num_shown_slots_ = 0;
  int64_t last_id_ = 0;
  double turn_ = 0;  // The latest turn that was taken.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORK_QUEUE_H_
