#include "coordinator/dispatch/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/parallelizer/check_answer.h"

namespace tangram {
namespace {

// How often waiting calls look at the clock and at should_stop.
constexpr std::chrono::milliseconds kPollInterval(50);

bool IsSet(const std::function<bool()>& should_stop) {
  return should_stop && should_stop();
}

// What a worker says, as far as it can be; it may be anything.
double Within(double most, double said) {
  return said > 0 ? std::min(said, most) : 0;
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

WorkerPool::~WorkerPool() {
  Lock lock(mutex_);
  all_kept_.wait(lock, [this] { return being_kept_.empty(); });
}

WorkerId WorkerPool::Connect(const WorkerInfo& info,
                             WorkerConnection& connection) {
  std::set<AdapterId> adapters;
  for (const AdapterInfo& adapter : info.adapters) adapters.insert(adapter.id);
  const Lock lock(mutex_);
  if (observer_ != nullptr) {
    for (const AdapterInfo& adapter : info.adapters) {
      observer_->OnAdapter(adapter.id.name);
    }
  }
  const WorkerId id =
      queue_.AddWorker(std::move(adapters), info.capacity, options_.now_s());
  workers_[id] = {
      .info = info, .connection = &connection, .since_s = options_.now_s()};
  SetOffer(workers_.at(id), /*is_offered=*/true);
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
  std::vector<AnsweredQuestion> to_keep;
  std::vector<TaskId> tasks;
  {
    const Lock lock(mutex_);
    for (WorkerAnswer& answer : answers) {
      if (!Accept(worker, answer)) continue;
      if (options_.store != nullptr && answer.answer.ok() &&
          IsReproducible(*answer.answer)) {
        tasks.push_back(answer.task);
        const Task& task = tasks_.at(answer.task);
        to_keep.push_back(
            {QuestionWriter({task.adapter, task.tenant}, task.context.get())
                 .Write(task.query),
             *answer.answer});
        being_kept_.emplace(answer.task, *std::move(answer.answer));
      } else {
        Deliver(answer.task, answer.answer);
      }
    }
    LeaseTo(worker);
  }
  if (to_keep.empty()) return;
  options_.store->Insert(to_keep, [this, tasks] { OnKept(tasks); });
}

void WorkerPool::OnKept(const std::vector<TaskId>& tasks) {
  const Lock lock(mutex_);
  for (const TaskId task : tasks) {
    const auto kept = being_kept_.extract(task);
    Deliver(task, kept.mapped());
  }
  if (being_kept_.empty()) all_kept_.notify_all();
}

bool WorkerPool::Accept(WorkerId worker, WorkerAnswer& given) {
  std::vector<WorkerId> others;
  if (!queue_.Complete(worker, given.task, &others)) return false;
  Task& task = tasks_.at(given.task);
  for (const WorkerId other : others) {
    workers_.at(other).connection->Cancel(given.task);
    EndAttempt(given.task, workers_.at(other).info.name,
               QueryEvent::kCancelled);
  }
  absl::StatusOr<Answer>& answer = given.answer;
  if (answer.ok() && answer->index() != task.query.index()) {
    answer = absl::InternalError(
        absl::StrCat("worker ", workers_.at(worker).info.name,
                     " answered another question than it was asked"));
  }
  const std::string& name = workers_.at(worker).info.name;
  ++workers_.at(worker).answered;
  if (QueryAttempt* attempt = FindAttempt(task, name)) {
    const double held_s = options_.now_s() - attempt->leased_s;
    attempt->waited_s = Within(held_s, given.waited_s);
    attempt->search_s = Within(held_s, given.search_s);
    workers_.at(worker).busy_s += attempt->search_s;
  }
  StampAttempt(given.task, name,
               answer.ok() ? QueryEvent::kAnswered : QueryEvent::kFailed);
  return true;
}

void WorkerPool::Deliver(TaskId id, const absl::StatusOr<Answer>& answer) {
  const Task& task = tasks_.at(id);
  Report(task.adapter,
         answer.ok() ? QueryEvent::kAnswered : QueryEvent::kFailed);
  if (answer.ok()) cache_.Insert(task.key, *answer);
  Finish(id, answer);
}

void WorkerPool::SetOffer(const Worker& worker, bool is_offered) {
  if (is_offered) {
    census_.Add(worker.info.adapters, worker.info.capacity);
  } else {
    census_.Remove(worker.info.adapters, worker.info.capacity);
  }
  const std::lock_guard lock(offered_mutex_);
  offered_adapters_ = census_.DigestOfBest();
}

Digest WorkerPool::OfferedAdapters() const {
  const std::lock_guard lock(offered_mutex_);
  return offered_adapters_;
}

void WorkerPool::OnHandedBack(WorkerId worker, TaskId task) {
  const Lock lock(mutex_);
  if (!queue_.HandBack(worker, task)) return;
  EndAttempt(task, workers_.at(worker).info.name, QueryEvent::kHandedBack);
  LeaseToAll();
}

void WorkerPool::Tick() {
  const Lock lock(mutex_);
  for (const WorkerId silent : queue_.SilentWorkers(options_.now_s())) {
    workers_.at(silent).connection->Close();
    Remove(silent);
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
    const std::function<bool()>& should_stop, QueryLog* log,
    const BatchShare& share) {
  const QueryScope scope{adapter, options_.share_answers ? "" : share.key};
  const std::vector<QueryKey> keys = KeysOf(scope, context.get(), queries);
  LoadStored(scope, context, queries, keys);
  Waiter waiter{.slots = {queries.size(), std::nullopt}, .log = log};

  Lock lock(mutex_);
  const BatchId batch = queue_.OpenBatch(adapter, share);
  BatchResult result;
  result.cache_hits = Enqueue(batch, scope, context, queries, keys, waiter);
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

void WorkerPool::LoadStored(const QueryScope& scope,
                            const SharedContext& context,
                            absl::Span<const Query> queries,
                            absl::Span<const QueryKey> keys) {
  if (options_.store == nullptr) return;
  std::vector<size_t> unknown;
  {
    const Lock lock(mutex_);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (cache_.Find(keys[i]) == nullptr) unknown.push_back(i);
    }
  }
  if (unknown.empty()) return;  // The store may be slow.
  QuestionWriter writer(scope, context.get());
  std::vector<Question> questions;
  for (const size_t i : unknown) questions.push_back(writer.Write(queries[i]));
  const std::vector<std::optional<Answer>> answers =
      options_.store->Find(questions);
  const PairContext no_context;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].has_value()) continue;
    const absl::Status status =
        CheckAnswer(context ? context->pairs : no_context, queries[unknown[i]],
                    *answers[i], scope.adapter.name);
    if (!status.ok()) {
      options_.store->Drop(questions[i].key, status);
      continue;
    }
    const Lock lock(mutex_);
    cache_.Insert(questions[i].key, *answers[i]);
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

bool WorkerPool::HasWorkers() {
  const Lock lock(mutex_);
  return queue_.num_slots() > 0;
}

std::vector<PoolWorkerStatus> WorkerPool::Workers() {
  const Lock lock(mutex_);
  const double now_s = options_.now_s();
  std::vector<PoolWorkerStatus> all;
  for (const auto& [id, worker] : workers_) {
    all.push_back({.info = worker.info,
                   .draining = worker.draining,
                   .leased = queue_.num_leased_to(id),
                   .answered = worker.answered,
                   .busy_s = worker.busy_s,
                   .connected_s = now_s - worker.since_s,
                   .silent_s = now_s - queue_.last_heard_s(id)});
  }
  return all;
}

int64_t WorkerPool::Enqueue(BatchId batch, const QueryScope& scope,
                            const SharedContext& context,
                            absl::Span<const Query> queries,
                            absl::Span<const QueryKey> keys, Waiter& waiter) {
  int64_t cache_hits = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    const Answer* known = cache_.Find(keys[i]);
    if (observer_ != nullptr) observer_->OnCacheLookup(known != nullptr);
    if (known != nullptr) {
      waiter.Deliver(i, *known);
      ++cache_hits;
      if (waiter.log != nullptr) {
        const double now_s = options_.now_s();
        waiter.log->OnQuery({.adapter = scope.adapter,
                             .context = context ? &context->pairs : nullptr,
                             .query = queries[i],
                             .is_cached = true,
                             .asked_s = now_s,
                             .ended_s = now_s});
      }
      continue;
    }
    const auto [it, is_new] = in_flight_.try_emplace(keys[i]);
    if (is_new) {
      it->second = queue_.AddTask(batch);
      tasks_[it->second] = {.key = keys[i],
                            .adapter = scope.adapter,
                            .tenant = scope.tenant,
                            .context = context,
                            .query = queries[i],
                            .asked_s = options_.now_s()};
    } else if (being_kept_.count(it->second) == 0) {
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
    Task& task = tasks_.at(task_id);
    BeginAttempt(task, workers_.at(id).info.name);
    leases.push_back({.task = task_id,
                      .adapter = task.adapter,
                      .context = task.context,
                      .query = task.query});
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
    EndAttempt(task, name, QueryEvent::kLost);
  }
  for (const TaskId task : lost.given_up) {
    EndAttempt(task, name, QueryEvent::kGivenUp);
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
    if (waiter->log != nullptr) {
      waiter->log->OnQuery(
          {.id = id,
           .adapter = task.adapter,
           .context = task.context ? &task.context->pairs : nullptr,
           .query = task.query,
           .asked_s = task.asked_s,
           .ended_s = options_.now_s(),
           .code = answer.status().code(),
           .attempts = task.attempts});
    }
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

void WorkerPool::BeginAttempt(Task& task, const std::string& worker) {
  const bool is_first = task.attempts.empty();
  const bool is_hedge = std::any_of(
      task.attempts.begin(), task.attempts.end(),
      [](const QueryAttempt& a) { return a.outcome == QueryEvent::kLeased; });
  const double now_s = options_.now_s();
  task.attempts.push_back({.worker = worker, .leased_s = now_s});
  Report(task.adapter, QueryEvent::kLeased);
  if (is_hedge) Report(task.adapter, QueryEvent::kHedged);
  if (is_first && observer_ != nullptr) observer_->OnWait(now_s - task.asked_s);
}

QueryAttempt* WorkerPool::FindAttempt(Task& task, const std::string& worker) {
  for (QueryAttempt& attempt : task.attempts) {
    if (attempt.worker == worker && attempt.outcome == QueryEvent::kLeased) {
      return &attempt;
    }
  }
  return nullptr;
}

void WorkerPool::StampAttempt(TaskId id, const std::string& worker,
                              QueryEvent outcome) {
  if (QueryAttempt* attempt = FindAttempt(tasks_.at(id), worker)) {
    attempt->ended_s = options_.now_s();
    attempt->outcome = outcome;
  }
}

void WorkerPool::EndAttempt(TaskId id, const std::string& worker,
                            QueryEvent outcome) {
  StampAttempt(id, worker, outcome);
  Report(tasks_.at(id).adapter, outcome);
}

void WorkerPool::Report(const AdapterId& adapter, QueryEvent event) {
  if (observer_ != nullptr) observer_->OnQuery(adapter.name, event);
}

}  // namespace tangram
