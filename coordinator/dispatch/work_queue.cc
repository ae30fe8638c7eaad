#include "coordinator/dispatch/work_queue.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/check.h"

namespace tangram {
namespace {

// The most tasks leased in advance to a worker, per slot. They hide a round
// trip as long as seven tasks.
constexpr int64_t kMaxPrefetch = 7;
// The most seconds of work leased in advance per slot. Batches wait for it.
constexpr double kMaxPrefetchS = 1;
// The weight of the last task in a worker's pace. The last four tasks make up
// two thirds of it: 1 - (1 - 1/4)^4 = 0.68.
constexpr double kPaceWeight = 0.25;
// Priorities are clamped to this, so the lowest still gets one turn in about
// 1,000.
constexpr int kMaxSteps = 5;

}  // namespace

WorkerId WorkQueue::AddWorker(std::set<AdapterId> adapters, int capacity,
                              double now_s) {
  workers_[++last_id_] = {.adapters = std::move(adapters),
                          .capacity = capacity,
                          .last_heard_s = now_s};
  num_slots_ += capacity;
  return last_id_;
}

void WorkQueue::Heard(WorkerId worker, double now_s) {
  if (const auto it = workers_.find(worker); it != workers_.end()) {
    it->second.last_heard_s = now_s;
  }
}

void WorkQueue::Drain(WorkerId worker) {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return;
  SetTakesLeases(worker, /*draining=*/true, it->second.suspended);
}

std::vector<TaskId> WorkQueue::Suspend(WorkerId worker) {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return {};
  SetTakesLeases(worker, it->second.draining, /*suspended=*/true);
  const std::vector<TaskId> leases = it->second.leases;
  // Each task goes to the front, so the oldest is handed back last.
  for (auto task = leases.rbegin(); task != leases.rend(); ++task) {
    HandBack(worker, *task);
  }
  return leases;
}

void WorkQueue::Resume(WorkerId worker) {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return;
  SetTakesLeases(worker, it->second.draining, /*suspended=*/false);
}

void WorkQueue::SetTakesLeases(WorkerId id, bool draining, bool suspended) {
  Worker& worker = workers_.at(id);
  if (worker.takes_leases()) num_slots_ -= worker.capacity;
  worker.draining = draining;
  worker.suspended = suspended;
  if (worker.takes_leases()) num_slots_ += worker.capacity;
}

// A worker starts tasks in the order of leasing, so the first `capacity` leases
// were running. Only these count a loss.
WorkQueue::LostLeases WorkQueue::RemoveWorker(WorkerId worker) {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return {};
  const std::vector<TaskId> leases = it->second.leases;
  const int num_started =
      std::min(it->second.capacity, static_cast<int>(leases.size()));
  LostLeases lost;
  for (int i = static_cast<int>(leases.size()) - 1; i >= 0; --i) {
    Task& task = tasks_.at(leases[i]);
    Release(worker, leases[i]);
    // Tasks that only waited in the worker did not kill it.
    if (i < num_started) ++task.num_losses;
    if (!task.holders.empty()) {
      lost.hedged.push_back(leases[i]);
      continue;
    }
    if (task.num_losses >= options_.max_losses) {
      lost.given_up.push_back(leases[i]);
    } else {
      QueueFirst(leases[i]);
      lost.requeued.push_back(leases[i]);
    }
  }
  for (const TaskId task : lost.given_up) Forget(task);
  for (auto& [id, task] : tasks_) task.refused.erase(worker);
  Drain(worker);
  workers_.erase(worker);
  return lost;
}

std::vector<WorkerId> WorkQueue::SilentWorkers(double now_s) const {
  std::vector<WorkerId> silent;
  for (const auto& [id, worker] : workers_) {
    if (now_s - worker.last_heard_s > options_.silence_limit_s) {
      silent.push_back(id);
    }
  }
  return silent;
}

// A new batch begins at the current turn, so it gets no turns for the time
// before.
BatchId WorkQueue::OpenBatch(const AdapterId& adapter,
                             const BatchShare& share) {
  const int steps = std::clamp(share.priority, -kMaxSteps, kMaxSteps);
  batches_[++last_id_] = {.adapter = adapter,
                          .share_key = share.key,
                          .weight = std::exp2(steps),
                          .next_turn = turn_};
  return last_id_;
}

TaskId WorkQueue::AddTask(BatchId batch) {
  const TaskId task = ++last_id_;
  tasks_[task].batches = {batch};
  batches_.at(batch).tasks.insert(task);
  batches_.at(batch).pending.push_back(task);
  ++num_pending_;
  return task;
}

void WorkQueue::JoinTask(BatchId batch, TaskId task) {
  if (batches_.at(batch).tasks.insert(task).second) {
    tasks_.at(task).batches.push_back(batch);
  }
}

WorkQueue::ClosedBatch WorkQueue::CloseBatch(BatchId batch) {
  ClosedBatch closed;
  const Batch closing = std::move(batches_.at(batch));
  num_pending_ -= static_cast<int64_t>(closing.pending.size());
  batches_.erase(batch);
  for (const TaskId id : closing.tasks) {
    Task& task = tasks_.at(id);
    const bool was_first = task.batches.front() == batch;
    task.batches.erase(
        std::find(task.batches.begin(), task.batches.end(), batch));
    if (!task.batches.empty()) {
      if (was_first && task.holders.empty()) QueueFirst(id);
      continue;
    }
    closed.dropped.push_back(id);
    while (!task.holders.empty()) {
      const WorkerId worker = task.holders.back().worker;
      closed.revoked.push_back({worker, id});
      Release(worker, id);
    }
    tasks_.erase(id);
  }
  return closed;
}

// Leases pending tasks up to LeaseLimit. Slots that are then still free take
// stragglers: tasks that other workers have held for too long; see HedgeAt.
std::vector<TaskId> WorkQueue::LeaseTo(WorkerId worker, double now_s) {
  std::vector<TaskId> leased;
  const auto it = workers_.find(worker);
  if (it == workers_.end() || !it->second.takes_leases()) return leased;
  const size_t limit = LeaseLimit(it->second);
  TaskId task = 0;
  while (it->second.leases.size() < limit && TakePending(worker, &task)) {
    Hold(worker, task, now_s);
    leased.push_back(task);
  }
  while (static_cast<int>(it->second.leases.size()) < it->second.capacity &&
         FindStraggler(worker, now_s, &task)) {
    Hold(worker, task, now_s);
    leased.push_back(task);
  }
  return leased;
}

bool WorkQueue::Complete(WorkerId worker, TaskId task,
                         std::vector<WorkerId>* others) {
  others->clear();
  if (const auto it = workers_.find(worker); it != workers_.end()) {
    if (const auto known = tasks_.find(task); known != tasks_.end()) {
      NotePace(it->second, known->second, worker);
    }
  }
  if (!Release(worker, task)) return false;
  for (const Holder& holder : tasks_.at(task).holders) {
    others->push_back(holder.worker);
  }
  Forget(task);
  return true;
}

bool WorkQueue::HandBack(WorkerId worker, TaskId task) {
  if (!Release(worker, task)) return false;
  if (tasks_.at(task).holders.empty()) QueueFirst(task);
  return true;
}

bool WorkQueue::Refuse(WorkerId worker, TaskId task) {
  if (!HandBack(worker, task)) return false;
  Exclude(worker, task);
  return true;
}

void WorkQueue::Exclude(WorkerId worker, TaskId task) {
  tasks_.at(task).refused.insert(worker);
}

void WorkQueue::GiveUp(TaskId task) {
  for (const BatchId batch : tasks_.at(task).batches) {
    num_pending_ -=
        static_cast<int64_t>(std::erase(batches_.at(batch).pending, task));
  }
  Forget(task);
}

bool WorkQueue::Holds(WorkerId worker, TaskId task) const {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return false;
  const std::vector<TaskId>& leases = it->second.leases;
  return std::find(leases.begin(), leases.end(), task) != leases.end();
}

bool WorkQueue::CanServe(const AdapterId& adapter) const {
  for (const auto& [id, worker] : workers_) {
    if (worker.adapters.count(adapter) > 0 &&
        (worker.takes_leases() || !worker.leases.empty())) {
      return true;
    }
  }
  return false;
}

bool WorkQueue::CanServe(TaskId task) const {
  if (!tasks_.at(task).holders.empty()) return true;
  for (const auto& [id, worker] : workers_) {
    if (worker.takes_leases() && MayHave(id, task)) return true;
  }
  return false;
}

// Returns whether `worker` offers the adapter of `task` and has not refused it.
bool WorkQueue::MayHave(WorkerId worker, TaskId task) const {
  const Task& wanted = tasks_.at(task);
  return workers_.at(worker).adapters.count(
             batches_.at(wanted.batches.front()).adapter) > 0 &&
         wanted.refused.count(worker) == 0;
}

int64_t WorkQueue::num_leased() const {
  return static_cast<int64_t>(tasks_.size()) - num_pending_;
}

int WorkQueue::num_leased_to(WorkerId worker) const {
  return static_cast<int>(workers_.at(worker).leases.size());
}

const std::vector<TaskId>& WorkQueue::LeasesOf(WorkerId worker) const {
  return workers_.at(worker).leases;
}

double WorkQueue::last_heard_s(WorkerId worker) const {
  return workers_.at(worker).last_heard_s;
}

// Updates the pace p, the seconds that a task takes in one slot. A worker with
// c slots ends c tasks in the time of one, so an answer at time t after the
// previous one at t', for a task leased at time s, gives
//
//   p ← p + w·((t − max(s, t'))·c − p),    w = kPaceWeight.
//
// The first answer sets p.
void WorkQueue::NotePace(Worker& worker, const Task& task, WorkerId id) {
  for (const Holder& holder : task.holders) {
    if (holder.worker != id) continue;
    const double began_s = std::max(holder.since_s, worker.last_answer_s);
    const double took_s =
        std::max(worker.last_heard_s - began_s, 0.0) * worker.capacity;
    const double before_s = worker.pace_s.value_or(took_s);
    worker.pace_s = before_s + kPaceWeight * (took_s - before_s);
    worker.last_answer_s = worker.last_heard_s;
  }
}

// Returns the most leases of `worker`. With c its slots, S the slots of all
// workers, p its pace and n the pending tasks,
//
//   limit = c·(1 + min(⌊kMaxPrefetchS / p⌋, kMaxPrefetch,
//                      ⌊max(n − S, 0) / (2·S)⌋)).
//
// So the tasks leased in advance are at most half of those that must wait
// anyway, and take the worker at most kMaxPrefetchS.
size_t WorkQueue::LeaseLimit(const Worker& worker) const {
  // The pace is unknown until the first answer.
  if (!worker.pace_s.has_value()) return worker.capacity;
  const int64_t slots = num_slots();
  const int64_t behind = std::max(num_pending_ - slots, int64_t{0});
  const int64_t in_time =
      *worker.pace_s * kMaxPrefetch > kMaxPrefetchS
          ? static_cast<int64_t>(kMaxPrefetchS / *worker.pace_s)
          : kMaxPrefetch;
  return worker.capacity * (1 + std::min(in_time, behind / (2 * slots)));
}

// Takes a task by stride scheduling (Waldspurger and Weihl, 1995). It serves
// the batch b with the least next turn, among those with a task for the worker.
// With T the latest turn,
//
//   T ← max(T, next(b)),    next(b) ← T + stride(b).
//
// Ties go to the oldest batch. Tasks that the worker must not get are passed
// over; they are rare. O(batches) without them.
bool WorkQueue::TakePending(WorkerId worker, TaskId* task) {
  const std::set<AdapterId>& adapters = workers_.at(worker).adapters;
  Batch* next = nullptr;
  std::deque<TaskId>::iterator first;
  for (auto& [id, batch] : batches_) {
    if (batch.pending.empty() || adapters.count(batch.adapter) == 0 ||
        (next != nullptr && batch.next_turn >= next->next_turn)) {
      continue;
    }
    const auto allowed =
        std::find_if(batch.pending.begin(), batch.pending.end(),
                     [&](TaskId pending) { return MayHave(worker, pending); });
    if (allowed == batch.pending.end()) continue;
    next = &batch;
    first = allowed;
  }
  if (next == nullptr) return false;
  // A batch does not catch up on turns that it missed without a worker.
  turn_ = std::max(turn_, next->next_turn);
  next->next_turn = turn_ + Stride(*next);
  *task = *first;
  next->pending.erase(first);
  --num_pending_;
  return true;
}

// Returns the turns until the next one of `batch`, the inverse of its part of
// its key's share. With w = 2^priority and the sum over the batches of the same
// key that have pending tasks,
//
//   stride(b) = Σ_b' w(b') / w(b).
//
// The inverse strides of a key's batches add up to 1, so all keys get the same
// number of turns.
double WorkQueue::Stride(const Batch& batch) const {
  double total = 0;
  for (const auto& [id, other] : batches_) {
    if (other.share_key == batch.share_key && !other.pending.empty()) {
      total += other.weight;
    }
  }
  return total / batch.weight;
}

// Finds the task that is due for another holder for longest.
bool WorkQueue::FindStraggler(WorkerId worker, double now_s,
                              TaskId* task) const {
  for (const auto& [due_s, id] : hedges_) {
    if (due_s >= now_s) return false;
    const std::vector<Holder>& holders = tasks_.at(id).holders;
    const bool holds_it =
        std::any_of(holders.begin(), holders.end(),
                    [worker](const Holder& h) { return h.worker == worker; });
    if (!holds_it && MayHave(worker, id)) {
      *task = id;
      return true;
    }
  }
  return false;
}

// Returns when an idle worker may take the task too. With h holders, the last
// of which took it at t,
//
//   at = t + hedge_after · 2^(h − 1).
//
// So a task that takes long occupies few workers, and workers that stay silent
// about it, however many, do not keep it from the others for ever.
double WorkQueue::HedgeAt(const Task& task) const {
  const int earlier = static_cast<int>(task.holders.size()) - 1;
  return task.holders.back().since_s +
         std::ldexp(options_.hedge_after_s, earlier);
}

void WorkQueue::Hold(WorkerId worker, TaskId task, double now_s) {
  std::vector<Holder> holders = tasks_.at(task).holders;
  holders.push_back({worker, now_s});
  SetHolders(task, std::move(holders));
  workers_.at(worker).leases.push_back(task);
}

void WorkQueue::SetHolders(TaskId id, std::vector<Holder> holders) {
  Task& task = tasks_.at(id);
  if (!task.holders.empty()) hedges_.erase({HedgeAt(task), id});
  task.holders = std::move(holders);
  if (!task.holders.empty()) hedges_.insert({HedgeAt(task), id});
}

bool WorkQueue::Release(WorkerId worker, TaskId task) {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return false;
  std::vector<TaskId>& leases = it->second.leases;
  const auto lease = std::find(leases.begin(), leases.end(), task);
  if (lease == leases.end()) return false;
  leases.erase(lease);
  std::vector<Holder> holders = tasks_.at(task).holders;
  std::erase_if(holders, [&](const Holder& h) { return h.worker == worker; });
  SetHolders(task, std::move(holders));
  return true;
}

void WorkQueue::QueueFirst(TaskId task) {
  batches_.at(tasks_.at(task).batches.front()).pending.push_front(task);
  ++num_pending_;
}

// Removes `task`, which must not be pending.
void WorkQueue::Forget(TaskId task) {
  for (const Holder& holder : tasks_.at(task).holders) {
    std::erase(workers_.at(holder.worker).leases, task);
  }
  SetHolders(task, {});
  const Task gone = std::move(tasks_.at(task));
  for (const BatchId batch : gone.batches) {
    batches_.at(batch).tasks.erase(task);
  }
  tasks_.erase(task);
}

void WorkQueue::CheckInvariants() const {
  int64_t num_pending = 0;
  for (const auto& [id, batch] : batches_) {
    for (const TaskId task : batch.pending) {
      TANGRAM_CHECK(tasks_.at(task).batches.front() == id);
      TANGRAM_CHECK(tasks_.at(task).holders.empty());
      ++num_pending;
    }
    for (const TaskId task : batch.tasks) {
      const std::vector<BatchId>& batches = tasks_.at(task).batches;
      TANGRAM_CHECK(std::count(batches.begin(), batches.end(), id) == 1);
    }
  }
  TANGRAM_CHECK(num_pending == num_pending_);
  size_t num_held = 0;
  size_t num_hedges = 0;
  for (const auto& [id, task] : tasks_) {
    TANGRAM_CHECK(!task.batches.empty());
    if (task.holders.empty()) --num_pending;
    if (!task.holders.empty()) {
      TANGRAM_CHECK(hedges_.count({HedgeAt(task), id}) == 1);
      ++num_hedges;
    }
    for (const Holder& holder : task.holders) {
      const std::vector<TaskId>& leases = workers_.at(holder.worker).leases;
      TANGRAM_CHECK(std::count(leases.begin(), leases.end(), id) == 1);
      ++num_held;
    }
    for (const BatchId batch : task.batches) {
      TANGRAM_CHECK(batches_.at(batch).tasks.count(id) == 1);
    }
  }
  TANGRAM_CHECK(num_pending == 0);  // Each was seen once, in one queue.
  TANGRAM_CHECK(num_hedges == hedges_.size());
  int num_slots = 0;
  for (const auto& [id, worker] : workers_) {
    num_held -= worker.leases.size();
    if (worker.takes_leases()) num_slots += worker.capacity;
  }
  TANGRAM_CHECK(num_held == 0);
  TANGRAM_CHECK(num_slots == num_slots_);
}

}  // namespace tangram
