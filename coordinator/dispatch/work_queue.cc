#include "coordinator/dispatch/work_queue.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/check.h"

namespace tangram {
namespace {

// Priorities are clamped to this, so the lowest still gets one turn in about
// 1,000.
constexpr int kMaxSteps = 5;

}  // namespace

WorkerId WorkQueue::AddWorker(std::set<AdapterId> adapters, int capacity,
                              double now_s, const WorkerIdentity& identity) {
  Worker& worker = workers_[++last_id_];
  worker = {.identity = identity,
            .adapters = std::move(adapters),
            .capacity = capacity,
            .window = options_.first_slots,
            .last_heard_s = now_s,
            .lost_at_s = now_s + options_.silence_limit_s};
  worker.look_at_s = worker.lost_at_s;
  looks_.insert({worker.look_at_s, last_id_});
  CountSlots(worker, 1);
  UpdateTakers(last_id_, worker);
  return last_id_;
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
    PutBack(worker, *task);
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
  CountSlots(worker, -1);
  worker.draining = draining;
  worker.suspended = suspended;
  CountSlots(worker, 1);
  UpdateTakers(id, worker);
}

void WorkQueue::CountSlots(const Worker& worker, int sign) {
  if (!worker.takes_leases()) return;
  num_slots_ += sign * worker.slots();
  num_shown_slots_ += sign * worker.shown_slots();
}

void WorkQueue::UpdateTakers(WorkerId id, const Worker& worker) {
  for (const AdapterId& adapter : worker.adapters) {
    if (worker.takes_leases()) {
      takers_[adapter][worker.identity].insert(id);
      continue;
    }
    const auto by_identity = takers_.find(adapter);
    if (by_identity == takers_.end()) continue;
    const auto connections = by_identity->second.find(worker.identity);
    if (connections == by_identity->second.end()) continue;
    connections->second.erase(id);
    if (connections->second.empty()) by_identity->second.erase(connections);
    if (by_identity->second.empty()) takers_.erase(by_identity);
  }
}

// A worker starts tasks in the order of leasing, so the first `capacity` leases
// were running. Only these count a loss.
WorkQueue::LostLeases WorkQueue::RemoveWorker(WorkerId worker, double now_s) {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return {};
  Drain(worker);
  const WorkerIdentity identity = it->second.identity;
  const std::vector<TaskId> leases = it->second.leases;
  const int num_started =
      std::min(it->second.capacity, static_cast<int>(leases.size()));
  if (num_started > 0) sources_.NoteLoss(identity, now_s);
  LostLeases lost;
  for (int i = static_cast<int>(leases.size()) - 1; i >= 0; --i) {
    Task& task = tasks_.at(leases[i]);
    Release(worker, leases[i]);
    Setbacks& setbacks = task.setbacks[identity];
    ++setbacks.count;
    // Tasks that only waited in the worker did not kill it.
    if (i < num_started) {
      ++setbacks.num_losses;
      if (!task.first_lost_s.has_value()) task.first_lost_s = now_s;
    }
    setbacks.last_s = now_s;
    if (!task.holders.empty()) {
      lost.hedged.push_back(leases[i]);
      continue;
    }
    if (IsHopeless(task, identity, now_s)) {
      int num_losses = 0;
      for (const auto& [who, what] : task.setbacks) {
        num_losses += what.num_losses;
      }
      lost.given_up.push_back({leases[i], num_losses});
    } else {
      QueueFirst(leases[i]);
      lost.requeued.push_back(leases[i]);
    }
  }
  for (const GivenUp& given_up : lost.given_up) Forget(given_up.task);
  for (auto& [id, task] : tasks_) task.refused.erase(worker);
  looks_.erase({it->second.look_at_s, worker});
  workers_.erase(it);
  return lost;
}

double BatchShare::weight() const {
  return std::exp2(std::clamp(priority, -kMaxSteps, kMaxSteps));
}

// A new batch begins at the current turn, so it gets no turns for the time
// before.
BatchId WorkQueue::OpenBatch(const AdapterId& adapter,
                             const BatchShare& share) {
  batches_[++last_id_] = {.adapter = adapter,
                          .share_key = share.key,
                          .weight = share.weight(),
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
  std::vector<TaskId> tasks(closing.tasks.begin(), closing.tasks.end());
  std::sort(tasks.begin(), tasks.end());
  for (const TaskId id : tasks) {
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

bool WorkQueue::MayLease(double now_s) const {
  return num_pending_ > 0 ||
         (!hedges_.empty() && hedges_.begin()->first < now_s);
}

// Leases pending tasks up to LeaseLimit. Slots that are then still free take
// stragglers: tasks that other workers have held for too long; see HedgeAt.
std::vector<TaskId> WorkQueue::LeaseTo(WorkerId worker, double now_s) {
  std::vector<TaskId> leased;
  const auto it = workers_.find(worker);
  if (it == workers_.end() || !it->second.takes_leases()) return leased;
  const size_t limit = LeaseLimit(it->second);
  TaskId task = 0;
  if (IsPausedBeside(worker, now_s)) return leased;
  if (const auto until_s = sources_.PausedUntil(it->second.identity, now_s)) {
    if (MayTry(it->second, *until_s, now_s) &&
        (TakePending(worker, now_s, &task) ||
         FindStraggler(worker, now_s, &task))) {
      Hold(worker, task, now_s);
      leased.push_back(task);
    }
    return leased;
  }
  while (it->second.leases.size() < limit &&
         TakePending(worker, now_s, &task)) {
    Hold(worker, task, now_s);
    leased.push_back(task);
  }
  while (it->second.has_free_slot() && FindStraggler(worker, now_s, &task)) {
    Hold(worker, task, now_s);
    leased.push_back(task);
  }
  return leased;
}

// Holders are in the order of leasing, so those before the worker were
// overtaken by it.
bool WorkQueue::Complete(WorkerId worker, TaskId task, double now_s,
                         std::vector<WorkerId>* others) {
  others->clear();
  if (const auto it = workers_.find(worker); it != workers_.end()) {
    if (const auto known = tasks_.find(task); known != tasks_.end()) {
      NotePace(it->second, known->second, worker);
    }
  }
  if (!Holds(worker, task)) return false;
  Worker& answering = workers_.at(worker);
  for (const Holder& holder : tasks_.at(task).holders) {
    if (holder.worker == worker) break;
    NoteOvertaken(holder, answering.identity, now_s);
  }
  answering.num_overtaken_beside = 0;
  SetWindow(answering, answering.window + 1);
  sources_.NoteAnswer(answering.identity, now_s);
  Release(worker, task);
  for (const Holder& holder : tasks_.at(task).holders) {
    others->push_back(holder.worker);
  }
  Forget(task);
  return true;
}

void WorkQueue::NoteLateAnswer(WorkerId worker, const AdapterId& adapter,
                               double took_s, double now_s) {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return;
  NoteTook(it->second, adapter, took_s, now_s);
  sources_.NoteAnswer(it->second.identity, now_s);
}

bool WorkQueue::HandBack(WorkerId worker, TaskId task, double now_s) {
  if (!PutBack(worker, task)) return false;
  NoteSetback(worker);
  sources_.NoteHandedBack(workers_.at(worker).identity, now_s);
  Setbacks& setbacks = tasks_.at(task).setbacks[workers_.at(worker).identity];
  ++setbacks.count;
  setbacks.last_s = now_s;
  return true;
}

bool WorkQueue::PutBack(WorkerId worker, TaskId task) {
  if (!Release(worker, task)) return false;
  if (tasks_.at(task).holders.empty()) QueueFirst(task);
  return true;
}

bool WorkQueue::Refuse(WorkerId worker, TaskId task) {
  if (!PutBack(worker, task)) return false;
  NoteSetback(worker);
  Exclude(worker, task);
  return true;
}

void WorkQueue::Exclude(WorkerId worker, TaskId task) {
  tasks_.at(task).refused.insert(worker);
}

void WorkQueue::GiveUp(TaskId task, double now_s) {
  for (const Holder& holder : tasks_.at(task).holders) {
    sources_.NoteOvertaken(workers_.at(holder.worker).identity,
                           now_s - holder.since_s, now_s);
  }
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

std::vector<WorkerId> WorkQueue::HoldersOf(TaskId task) const {
  std::vector<WorkerId> workers;
  for (const Holder& holder : tasks_.at(task).holders) {
    workers.push_back(holder.worker);
  }
  return workers;
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

bool WorkQueue::HasFreeSlot(const AdapterId& adapter) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& worker = entry.second;
    return worker.has_free_slot() && worker.adapters.count(adapter) > 0;
  });
}

bool WorkQueue::CanServe(TaskId task) const {
  if (!tasks_.at(task).holders.empty()) return true;
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return CanServe(worker.first, task);
  });
}

bool WorkQueue::CanServe(WorkerId worker, TaskId task) const {
  return Holds(worker, task) ||
         (workers_.at(worker).takes_leases() && MayHave(worker, task));
}

bool WorkQueue::HasProvenTaker(TaskId task) const {
  return AnyTaker(tasks_.at(task), [this](const WorkerIdentity& who) {
    return sources_.HasAnswered(who);
  });
}

int64_t WorkQueue::num_leased() const {
  return static_cast<int64_t>(tasks_.size()) - num_pending_;
}

int WorkQueue::num_leased_to(WorkerId worker) const {
  return static_cast<int>(workers_.at(worker).leases.size());
}

double WorkQueue::OldestLeaseS(double now_s) const {
  double oldest_s = 0;
  for (const auto& [earliest_s, id] : hedges_) {
    oldest_s =
        std::max(oldest_s, now_s - tasks_.at(id).holders.front().since_s);
  }
  return oldest_s;
}

const std::vector<TaskId>& WorkQueue::LeasesOf(WorkerId worker) const {
  return workers_.at(worker).leases;
}

double WorkQueue::last_heard_s(WorkerId worker) const {
  return workers_.at(worker).last_heard_s;
}

void WorkQueue::Hold(WorkerId worker, TaskId task, double now_s) {
  Task& held = tasks_.at(task);
  if (held.first_leased_s == 0) held.first_leased_s = now_s;
  std::vector<Holder> holders = held.holders;
  holders.push_back({worker, now_s});
  SetHolders(task, std::move(holders));
  Worker& holder = workers_.at(worker);
  holder.leases.push_back(task);
  // An allowed silence ends: the worker must acknowledge the task.
  SetLostAt(worker, holder,
            std::min(holder.lost_at_s, now_s + options_.silence_limit_s));
}

void WorkQueue::SetHolders(TaskId id, std::vector<Holder> holders) {
  Task& task = tasks_.at(id);
  if (!task.holders.empty()) hedges_.erase({task.hedge_at_s, id});
  task.holders = std::move(holders);
  if (task.holders.empty()) return;
  task.hedge_at_s = HedgeAt(task, /*patience_s=*/0);
  hedges_.insert({task.hedge_at_s, id});
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
  for (const BatchId batch : tasks_.at(task).batches) {
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
      TANGRAM_CHECK(hedges_.count({task.hedge_at_s, id}) == 1);
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
  int num_shown_slots = 0;
  TANGRAM_CHECK(looks_.size() == workers_.size());
  for (const auto& [id, worker] : workers_) {
    TANGRAM_CHECK(looks_.count({worker.look_at_s, id}) == 1);
    TANGRAM_CHECK(worker.look_at_s <= worker.lost_at_s);
    num_held -= worker.leases.size();
    if (worker.takes_leases()) {
      num_slots += worker.slots();
      num_shown_slots += worker.shown_slots();
    }
    for (const AdapterId& adapter : worker.adapters) {
      const auto takers = takers_.find(adapter);
      const bool is_taker = takers != takers_.end() &&
                            takers->second.count(worker.identity) > 0 &&
                            takers->second.at(worker.identity).count(id) > 0;
      TANGRAM_CHECK(is_taker == worker.takes_leases());
    }
  }
  TANGRAM_CHECK(num_held == 0);
  TANGRAM_CHECK(num_slots == num_slots_);
  TANGRAM_CHECK(num_shown_slots == num_shown_slots_);
}

}  // namespace tangram
