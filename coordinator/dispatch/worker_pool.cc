#include "coordinator/dispatch/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

// How often waiting calls look at the clock and at should_stop.
constexpr std::chrono::milliseconds kPollInterval(50);

bool IsSet(const std::function<bool()>& should_stop) {
  return should_stop && should_stop();
}

}  // namespace

bool WorkerPool::Waiter::Failed() const {
  return prefix < slots.size() && slots[prefix].has_value() &&
         !slots[prefix]->ok();
}

void WorkerPool::Waiter::Deliver(size_t slot,
                                 const absl::StatusOr<Answer>& answer) {
  if (answer.ok()) {
    slots[slot] = answer;
  } else {
    // Built anew: threads that share a Status count its references in a library
    // that ThreadSanitizer does not see into.
    slots[slot] = absl::Status(answer.status().code(),
                               std::string(answer.status().message()));
  }
  ++num_done;
  while (prefix < slots.size() && slots[prefix].has_value() &&
         slots[prefix]->ok()) {
    ++prefix;
  }
}

WorkerPool::WorkerPool(WorkerPoolOptions options, WorkerPoolObserver* observer)
    : options_(std::move(options)),
      observer_(observer),
      queue_(options_.queue),
      cache_(options_.cache_bytes) {}

WorkerId WorkerPool::Connect(const WorkerInfo& info,
                             WorkerConnection& connection) {
  std::set<AdapterId> adapters;
  for (const AdapterInfo& adapter : info.adapters) adapters.insert(adapter.id);
  const Lock lock(mutex_);
  const WorkerId id =
      queue_.AddWorker(std::move(adapters), info.capacity, options_.now_s());
  workers_[id] = {.info = info, .connection = &connection};
  SetOffer(workers_.at(id), /*is_offered=*/true);
  connection.Ping();
  LeaseTo(id);
  changed_.notify_all();
  return id;
}

void WorkerPool::Disconnect(WorkerId worker) {
  const Lock lock(mutex_);
  Remove(worker);
}

void WorkerPool::Heard(WorkerId worker) {
  const Lock lock(mutex_);
  queue_.Heard(worker, options_.now_s());
}

void WorkerPool::Drain(WorkerId worker) {
  const Lock lock(mutex_);
  queue_.Drain(worker);
  const auto it = workers_.find(worker);
  if (it == workers_.end() || it->second.draining) return;
  it->second.draining = true;
  SetOffer(it->second, /*is_offered=*/false);
}

void WorkerPool::OnAnswers(WorkerId worker, std::vector<WorkerAnswer> answers) {
  std::vector<std::pair<Fingerprint, Answer>> to_store;
  {
    const Lock lock(mutex_);
    for (WorkerAnswer& answer : answers) {
      const auto task = tasks_.find(answer.task);
      const Fingerprint key = task == tasks_.end() ? 0 : task->second.key;
      if (!Accept(worker, answer)) continue;
      if (options_.store != nullptr && answer.answer.ok() &&
          IsReproducible(*answer.answer)) {
        to_store.emplace_back(key, *std::move(answer.answer));
      }
    }
    LeaseTo(worker);
  }
  for (const auto& [key, answer] : to_store)
    options_.store->Insert(key, answer);
}

bool WorkerPool::Accept(WorkerId worker, WorkerAnswer& given) {
  std::vector<WorkerId> others;
  if (!queue_.Complete(worker, given.task, &others)) return false;
  const Task& task = tasks_.at(given.task);
  for (const WorkerId other : others) {
    workers_.at(other).connection->Cancel(given.task);
    Report(task.adapter, QueryEvent::kCancelled);
  }
  absl::StatusOr<Answer>& answer = given.answer;
  if (answer.ok() && answer->index() != task.query.index()) {
    answer = absl::InternalError(
        absl::StrCat("worker ", workers_.at(worker).info.name,
                     " answered another question than it was asked"));
  }
  Report(task.adapter,
         answer.ok() ? QueryEvent::kAnswered : QueryEvent::kFailed);
  if (answer.ok()) cache_.Insert(task.key, *answer);
  Finish(given.task, answer);
  return true;
}

void WorkerPool::SetOffer(const Worker& worker, bool is_offered) {
  if (is_offered) {
    census_.Add(worker.info.adapters, worker.info.capacity);
  } else {
    census_.Remove(worker.info.adapters, worker.info.capacity);
  }
  offered_adapters_ = census_.FingerprintOfBest();
}

void WorkerPool::OnHandedBack(WorkerId worker, TaskId task) {
  const Lock lock(mutex_);
  if (!queue_.HandBack(worker, task)) return;
  Report(tasks_.at(task).adapter, QueryEvent::kHandedBack);
  LeaseToAll();
}

void WorkerPool::Tick() {
  const Lock lock(mutex_);
  for (const WorkerId silent : queue_.SilentWorkers(options_.now_s())) {
    workers_.at(silent).connection->Close();
    Remove(silent);
  }
  if (options_.now_s() - last_ping_s_ >= options_.ping_interval_s) {
    last_ping_s_ = options_.now_s();
    for (const auto& [id, worker] : workers_) worker.connection->Ping();
  }
  LeaseToAll();
}

absl::StatusOr<AdapterInfo> WorkerPool::FindAdapter(
    absl::string_view name, const std::function<bool()>& should_stop) {
  Lock lock(mutex_);
  const double give_up_s = options_.now_s() + options_.worker_wait_s;
  while (true) {
    if (const auto adapter = census_.Best(name)) return *adapter;
    if (options_.now_s() >= give_up_s) return NoWorkerFor(name);
    changed_.wait_for(lock, kPollInterval);
    if (IsSet(should_stop)) return absl::CancelledError("stopped");
  }
}

absl::StatusOr<std::vector<std::string>> WorkerPool::AdapterNames(
    const std::function<bool()>& should_stop) {
  Lock lock(mutex_);
  const double give_up_s = options_.now_s() + options_.worker_wait_s;
  while (true) {
    std::vector<std::string> names = census_.Names();
    if (!names.empty()) return names;
    if (options_.now_s() >= give_up_s) return NoWorkerFor("any");
    changed_.wait_for(lock, kPollInterval);
    if (IsSet(should_stop)) return absl::CancelledError("stopped");
  }
}

absl::StatusOr<WorkerPool::BatchResult> WorkerPool::Run(
    const AdapterId& adapter, const SharedContext& context,
    absl::Span<const Query> queries,
    const std::function<void(int, int)>& progress,
    const std::function<bool()>& should_stop) {
  std::vector<Fingerprint> keys;
  keys.reserve(queries.size());
  for (const Query& query : queries) {
    keys.push_back(KeyOf(adapter, context.get(), query));
  }
  LoadStored(keys);
  Waiter waiter;
  waiter.slots.resize(queries.size());

  Lock lock(mutex_);
  const BatchId batch = queue_.OpenBatch(adapter);
  BatchResult result;
  result.cache_hits = Enqueue(batch, adapter, context, queries, keys, waiter);
  LeaseToAll();
  const absl::Status status =
      Await(lock, adapter, waiter, progress, should_stop);
  Abandon(batch, waiter);
  lock.unlock();

  if (!status.ok()) return status;
  if (waiter.Failed()) return waiter.slots[waiter.prefix]->status();
  result.answers.reserve(waiter.slots.size());
  for (auto& slot : waiter.slots) result.answers.push_back(**std::move(slot));
  return result;
}

void WorkerPool::LoadStored(absl::Span<const Fingerprint> keys) {
  if (options_.store == nullptr) return;
  std::vector<Fingerprint> unknown;
  {
    const Lock lock(mutex_);
    for (const Fingerprint key : keys) {
      if (cache_.Find(key) == nullptr) unknown.push_back(key);
    }
  }
  const std::vector<std::optional<Answer>> answers =
      options_.store->Find(unknown);
  const Lock lock(mutex_);
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].has_value()) cache_.Insert(unknown[i], *answers[i]);
  }
}

WorkerPoolCounts WorkerPool::Counts() {
  const Lock lock(mutex_);
  WorkerPoolCounts counts{.workers = static_cast<int>(workers_.size()),
                          .slots = queue_.num_slots(),
                          .pending = queue_.num_pending(),
                          .leased = queue_.num_leased(),
                          .cache_entries = cache_.num_entries(),
                          .cache_bytes = cache_.num_bytes()};
  for (const auto& [id, worker] : workers_) counts.draining += worker.draining;
  return counts;
}

int64_t WorkerPool::Enqueue(BatchId batch, const AdapterId& adapter,
                            const SharedContext& context,
                            absl::Span<const Query> queries,
                            absl::Span<const Fingerprint> keys,
                            Waiter& waiter) {
  int64_t cache_hits = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    const Answer* known = cache_.Find(keys[i]);
    if (observer_ != nullptr) observer_->OnCacheLookup(known != nullptr);
    if (known != nullptr) {
      waiter.Deliver(i, *known);
      ++cache_hits;
      continue;
    }
    const auto [it, is_new] = in_flight_.try_emplace(keys[i]);
    if (is_new) {
      it->second = queue_.AddTask(batch);
      tasks_[it->second] = {.key = keys[i],
                            .adapter = adapter,
                            .context = context,
                            .query = queries[i]};
    } else {
      queue_.JoinTask(batch, it->second);
    }
    tasks_.at(it->second).waiting.emplace_back(&waiter, i);
  }
  return cache_hits;
}

absl::Status WorkerPool::Await(Lock& lock, const AdapterId& adapter,
                               Waiter& waiter,
                               const std::function<void(int, int)>& progress,
                               const std::function<bool()>& should_stop) {
  const int total = static_cast<int>(waiter.slots.size());
  int reported = -1;
  double served_s = options_.now_s();
  while (!waiter.Finished()) {
    const double now_s = options_.now_s();
    if (queue_.CanServe(adapter)) {
      served_s = now_s;
    } else if (now_s - served_s >= options_.worker_wait_s) {
      return NoWorkerFor(adapter.name);
    }
    changed_.wait_for(lock, kPollInterval);
    const int done = waiter.num_done;
    lock.unlock();
    if (progress && done != reported) progress(done, total);
    reported = done;
    const bool stop = IsSet(should_stop);
    lock.lock();
    if (stop && !waiter.Finished()) return absl::CancelledError("stopped");
  }
  if (progress && !waiter.Failed() && reported != total) {
    lock.unlock();
    progress(total, total);
    lock.lock();
  }
  return absl::OkStatus();
}

void WorkerPool::Abandon(BatchId batch, const Waiter& waiter) {
  const WorkQueue::ClosedBatch closed = queue_.CloseBatch(batch);
  for (const auto& [worker, task] : closed.revoked) {
    workers_.at(worker).connection->Cancel(task);
    Report(tasks_.at(task).adapter, QueryEvent::kCancelled);
  }
  for (const TaskId id : closed.dropped) {
    in_flight_.erase(tasks_.at(id).key);
    tasks_.erase(id);
  }
  if (waiter.num_done == static_cast<int>(waiter.slots.size())) return;
  for (auto& [id, task] : tasks_) {
    std::erase_if(task.waiting,
                  [&](const auto& entry) { return entry.first == &waiter; });
  }
  // What was revoked has made room for others.
  LeaseToAll();
}

void WorkerPool::LeaseToAll() {
  if (tasks_.empty()) return;
  for (const auto& [id, worker] : workers_) LeaseTo(id);
}

void WorkerPool::LeaseTo(WorkerId id) {
  std::vector<LeasedQuery> leases;
  for (const TaskId task_id : queue_.LeaseTo(id, options_.now_s())) {
    const Task& task = tasks_.at(task_id);
    leases.push_back({.task = task_id,
                      .adapter = task.adapter,
                      .context = task.context,
                      .query = task.query});
    Report(task.adapter, QueryEvent::kLeased);
  }
  if (!leases.empty()) workers_.at(id).connection->Lease(std::move(leases));
}

void WorkerPool::Remove(WorkerId id) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;
  if (observer_ != nullptr && !it->second.draining) {
    observer_->OnWorkerLost(it->second.info.name);
  }
  if (!it->second.draining) SetOffer(it->second, /*is_offered=*/false);
  const std::string name = it->second.info.name;
  workers_.erase(it);
  const WorkQueue::LostLeases lost = queue_.RemoveWorker(id);
  for (const TaskId task : lost.requeued) {
    Report(tasks_.at(task).adapter, QueryEvent::kLost);
  }
  for (const TaskId task : lost.given_up) {
    Report(tasks_.at(task).adapter, QueryEvent::kGivenUp);
    Finish(task, absl::InternalError(absl::StrCat(
                     "parallelizer ", tasks_.at(task).adapter.name,
                     ": a query was given up after ", options_.queue.max_losses,
                     " workers were lost while working on it (the last one: ",
                     name, ")")));
  }
  LeaseToAll();
  changed_.notify_all();
}

void WorkerPool::Finish(TaskId id, const absl::StatusOr<Answer>& answer) {
  const Task task = std::move(tasks_.at(id));
  tasks_.erase(id);
  in_flight_.erase(task.key);
  bool finished = false;
  for (const auto& [waiter, slot] : task.waiting) {
    waiter->Deliver(slot, answer);
    finished = finished || waiter->Finished();
  }
  if (finished) changed_.notify_all();
}

absl::Status WorkerPool::NoWorkerFor(absl::string_view adapter) const {
  return absl::UnavailableError(absl::StrCat("no worker offers adapter \"",
                                             adapter, "\" (", workers_.size(),
                                             " workers connected)"));
}

void WorkerPool::Report(const AdapterId& adapter, QueryEvent event) {
  if (observer_ != nullptr) observer_->OnQuery(adapter.name, event);
}

}  // namespace tangram
