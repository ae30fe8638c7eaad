#ifndef TANGRAM_COORDINATOR_DISPATCH_WORK_QUEUE_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORK_QUEUE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/parallelizer/query.h"

namespace tangram {

using WorkerId = int64_t;
using BatchId = int64_t;
using TaskId = int64_t;

struct WorkQueueOptions {
  // A worker that was not heard of for longer than this is lost.
  double silence_limit_s = 25;
  // An idle worker doubles a task that another one has held for longer.
  double hedge_after_s = 30;
  // A task that this many workers were lost with is given up: it probably
  // kills them.
  int max_losses = 3;
};

// Whom a batch is for. Keys have equal shares of the workers; the batches of a
// key divide its share, twice as much for each step of priority.
struct BatchShare {
  std::string key;
  int priority = 0;
};

// Who works on what: tasks wait in batches and are leased to workers, which
// complete them, hand them back, or are lost. Knows nothing of what the tasks
// are. The time is an argument; any origin will do, if it never goes back.
//
// Batches take turns by their shares (stride scheduling: Waldspurger and Weihl,
// 1995), so that a small one is not kept waiting by a large one. A worker that
// is quick is leased more than it can run at once while much waits, so that
// short tasks do not wait for the network, and no more than it can run when
// little does, so that none is left behind in a slow worker's queue.
//
// Not thread-safe.
class WorkQueue {
 public:
  explicit WorkQueue(const WorkQueueOptions& options) : options_(options) {}

  WorkerId AddWorker(std::set<AdapterId> adapters, int capacity, double now_s);
  void Heard(WorkerId worker, double now_s);
  // Leases nothing more to `worker`.
  void Drain(WorkerId worker);
  struct LostLeases {
    std::vector<TaskId> requeued;  // At the front of their batches.
    std::vector<TaskId> given_up;  // Gone.
    std::vector<TaskId> hedged;    // Another worker holds them still.
  };
  LostLeases RemoveWorker(WorkerId worker);
  // Leases nothing to `worker` until it is resumed. Returns the tasks that it
  // held: each is at the front of its batch, or with another worker. They are
  // not counted as lost with it.
  std::vector<TaskId> Suspend(WorkerId worker);
  void Resume(WorkerId worker);
  std::vector<WorkerId> SilentWorkers(double now_s) const;

  BatchId OpenBatch(const AdapterId& adapter, const BatchShare& share = {});
  TaskId AddTask(BatchId batch);
  // `batch` wants the answer to a task of another batch as well.
  void JoinTask(BatchId batch, TaskId task);

  struct Lease {
    WorkerId worker = 0;
    TaskId task = 0;
    auto operator<=>(const Lease&) const = default;
  };
  struct ClosedBatch {
    std::vector<TaskId> dropped;  // Nobody else wants them.
    std::vector<Lease> revoked;   // Of these, the ones that were leased.
  };
  ClosedBatch CloseBatch(BatchId batch);

  // What `worker` is to work on in addition to what it has.
  std::vector<TaskId> LeaseTo(WorkerId worker, double now_s);

  // False if `worker` does not hold `task` (any more): the answer comes too
  // late. Otherwise the task is gone, and `others` are the workers that need
  // not finish it.
  bool Complete(WorkerId worker, TaskId task, std::vector<WorkerId>* others);
  // False likewise. The task goes back to the front of its batch.
  bool HandBack(WorkerId worker, TaskId task);
  // The same, and `worker` is never leased the task again.
  bool Refuse(WorkerId worker, TaskId task);
  // Ends a task that no worker holds, unanswered.
  void GiveUp(TaskId task);

  bool Holds(WorkerId worker, TaskId task) const;
  bool IsHeld(TaskId task) const { return !tasks_.at(task).holders.empty(); }
  // Whether tasks for `adapter` can be hoped to be answered.
  bool CanServe(const AdapterId& adapter) const;
  // Whether a worker holds `task`, or one could be leased it.
  bool CanServe(TaskId task) const;
  int64_t num_pending() const { return num_pending_; }
  int64_t num_leased() const;
  int num_leased_to(WorkerId worker) const;
  double last_heard_s(WorkerId worker) const;
  // Slots of the workers that take leases.
  int num_slots() const { return num_slots_; }

  // Aborts if the state is inconsistent.
  void CheckInvariants() const;

 private:
  struct Holder {
    WorkerId worker = 0;
    double since_s = 0;
  };
  struct Task {
    std::vector<BatchId> batches;  // The first one has it in its queue.
    std::vector<Holder> holders;   // Empty: pending.
    std::set<WorkerId> refused;    // Workers that must not have it again.
    int num_losses = 0;
  };
  struct Batch {
    AdapterId adapter;
    std::string share_key;
    double weight = 1;
    double next_turn = 0;  // In turns of the whole queue.
    std::deque<TaskId> pending;
    std::set<TaskId> tasks;
  };
  struct Worker {
    std::set<AdapterId> adapters;
    int capacity = 0;
    double last_heard_s = 0;
    bool draining = false;
    bool suspended = false;
    double last_answer_s = 0;
    std::optional<double> pace_s;  // What a task takes it, of late.
    std::vector<TaskId> leases;    // In order of leasing, so of starting.

    bool takes_leases() const { return !draining && !suspended; }
  };

  static void NotePace(Worker& worker, const Task& task, WorkerId id);
  size_t LeaseLimit(const Worker& worker) const;
  bool TakePending(WorkerId id, TaskId* task);
  bool MayHave(WorkerId worker, TaskId task) const;
  void SetTakesLeases(WorkerId worker, bool draining, bool suspended);
  double Stride(const Batch& batch) const;
  bool FindStraggler(WorkerId worker, double now_s, TaskId* task) const;
  void Hold(WorkerId worker, TaskId task, double now_s);
  void SetHolders(TaskId id, std::vector<Holder> holders);
  bool Release(WorkerId worker, TaskId task);
  void QueueFirst(TaskId task);
  void Forget(TaskId task);

  const WorkQueueOptions options_;
  std::map<WorkerId, Worker> workers_;
  std::map<BatchId, Batch> batches_;
  std::map<TaskId, Task> tasks_;
  // Tasks that one worker holds, and since when: the oldest are stragglers.
  std::set<std::pair<double, TaskId>> held_once_;
  int64_t num_pending_ = 0;
  int num_slots_ = 0;
  int64_t last_id_ = 0;
  double turn_ = 0;  // The latest that was taken.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORK_QUEUE_H_
