#include "coordinator/dispatch/worker_pool.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/parallelizer/check_answer.h"

namespace tangram {
namespace {

// Looking at all workers takes time, and what is forgotten takes little memory.
constexpr double kForgetIntervalS = 60;

// Returns seconds that a worker reported, clamped to 0 … `most`. A worker may
// report anything.
double Within(double most, double said) {
  return said > 0 ? std::min(said, most) : 0;
}

}  // namespace

bool WorkerPool::Waiter::Failed() const {
  return prefix < slots.size() && slots[prefix].has_value() &&
         !slots[prefix]->ok();
}

void WorkerPool::Waiter::Deliver(size_t slot, absl::StatusOr<Answer> answer) {
  if (answer.ok()) {
    slots[slot] = std::move(answer);
  } else {
    // A new Status, because threads that share one count its references in a
    // library that ThreadSanitizer does not instrument.
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
      cache_(options_.cache_bytes),
      quarantine_(options_.quarantine),
      began_s_(options_.now_s()) {}

WorkerPool::~WorkerPool() {
  const MutexLock lock(mutex_);
  all_kept_.Wait(mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return being_kept_.empty();
  });
}

WorkerId WorkerPool::Connect(const WorkerInfo& info,
                             WorkerConnection& connection) {
  std::set<AdapterId> adapters;
  for (const AdapterInfo& adapter : info.adapters) adapters.insert(adapter.id);
  const MutexLock lock(mutex_);
  if (observer_ != nullptr) {
    for (const AdapterInfo& adapter : info.adapters) {
      observer_->OnAdapter(adapter.id.name);
    }
  }
  last_join_s_ = options_.now_s();
  const WorkerId id = queue_.AddWorker(std::move(adapters), info.capacity,
                                       last_join_s_, info.identity);
  Worker& worker = workers_[id];
  worker = {.info = info, .connection = &connection, .since_s = last_join_s_};
  worker.quarantined = quarantine_.Holds(info.identity);
  if (worker.quarantined) queue_.Suspend(id);
  ExcludeFromRejected(id, worker);
  UpdateOffer(worker);
  ForgetLoneVerdicts(info);
  LeaseTo(id);
  changed_.NotifyAll();
  return id;
}

void WorkerPool::Disconnect(WorkerId worker) {
  const MutexLock lock(mutex_);
  Remove(worker);
}

void WorkerPool::Heard(WorkerId worker) {
  const MutexLock lock(mutex_);
  queue_.Heard(worker, options_.now_s());
}

void WorkerPool::AllowSilence(WorkerId worker) {
  const MutexLock lock(mutex_);
  if (const std::optional<double> silence_s = queue_.AllowSilence(worker)) {
    workers_.at(worker).connection->AllowSilence(*silence_s);
  }
}

void WorkerPool::Drain(WorkerId worker) {
  const MutexLock lock(mutex_);
  queue_.Drain(worker);
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return;
  it->second.draining = true;
  UpdateOffer(it->second);
  FailDisputed();
}

// Life of an answer: Check marks it as wrong or not; Reject queues its query
// for another worker, as NoteVerdict does if the answer is an error; or Accept
// completes the task in the queue. If there is a
// store and the answer is reproducible, the task waits in being_kept_ until
// OnKept. Deliver then caches the answer and wakes the callers.
void WorkerPool::OnAnswers(WorkerId worker, std::vector<WorkerAnswer> answers) {
  const std::vector<LateAnswer> late = Check(worker, answers);
  std::vector<TaskId> tasks;
  std::vector<AnsweredQuestion> to_keep;
  std::vector<std::shared_ptr<const Asked>> asked;
  {
    const MutexLock lock(mutex_);
    for (const LateAnswer& answer : late) NoteLate(worker, answer);
    for (WorkerAnswer& answer : answers) {
      if (answer.rejection != RejectionReason::kNone) {
        Reject(worker, answer);
        continue;
      }
      if (!answer.answer.ok()) {
        NoteVerdict(worker, answer);
        continue;
      }
      if (!Accept(worker, answer)) continue;
      if (options_.store != nullptr && IsReproducible(*answer.answer)) {
        const Task& task = tasks_.at(answer.task);
        being_kept_.insert(answer.task);
        tasks.push_back(answer.task);
        asked.push_back(task.asked);
        to_keep.push_back({{.key = task.key}, *std::move(answer.answer)});
      } else {
        Deliver(answer.task, *std::move(answer.answer));
      }
    }
    LeaseTo(worker);
  }
  if (to_keep.empty()) return;
  for (size_t i = 0; i < to_keep.size(); ++i) {
    to_keep[i].question.bytes = asked[i]->bytes;
  }
  const auto kept =
      std::make_shared<const std::vector<AnsweredQuestion>>(std::move(to_keep));
  options_.store->Insert(
      *kept, [this, kept, tasks = std::move(tasks)] { OnKept(tasks, *kept); });
}

void WorkerPool::OnKept(absl::Span<const TaskId> tasks,
                        absl::Span<const AnsweredQuestion> answers) {
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < tasks.size(); ++i) {
    being_kept_.erase(tasks[i]);
    Deliver(tasks[i], answers[i].answer);
  }
  if (being_kept_.empty()) all_kept_.NotifyAll();
}

bool WorkerPool::Accept(WorkerId worker, WorkerAnswer& given) {
  std::vector<WorkerId> others;
  const double now_s = options_.now_s();
  if (!queue_.Complete(worker, given.task, now_s, &others)) return false;
  disputed_.erase(given.task);
  Task& task = tasks_.at(given.task);
  quarantine_.NoteAnswer(workers_.at(worker).info.identity);
  BlameOthers(task, workers_.at(worker).info.identity);
  for (const WorkerId other : others) {
    Worker& overtaken = workers_.at(other);
    overtaken.connection->Cancel(given.task);
    if (const QueryAttempt* attempt = task.attempts.FindOpen(other)) {
      if (overtaken.overtaken.size() >= kMaxOvertaken) {
        overtaken.overtaken.erase(overtaken.overtaken.begin());
      }
      overtaken.overtaken[given.task] = {task.asked, attempt->leased_s};
    }
    EndAttempt(given.task, other, QueryEvent::kCancelled);
  }
  ++workers_.at(worker).answered;
  workers_.at(worker).last_answer_s = now_s;
  if (QueryAttempt* attempt = task.attempts.FindOpen(worker)) {
    const double held_s = now_s - attempt->leased_s;
    attempt->waited_s = Within(held_s, given.waited_s);
    attempt->search_s = Within(held_s, given.search_s);
    workers_.at(worker).busy_s += attempt->search_s;
  }
  BlameIdle(task, worker, others);
  task.attempts.End(worker, QueryEvent::kAnswered, now_s);
  return true;
}

// It counts as any answer, but the worker stays as often overtaken.
void WorkerPool::NoteLate(WorkerId id, const LateAnswer& answer) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;
  if (answer.rejection != RejectionReason::kNone) {
    const WorkerQuarantine::Fault fault =
        FaultOf(id, answer.adapter, answer.fault);
    ReportRejection(fault, answer.adapter.name, answer.rejection);
    Blame(fault);
    FailDisputed();
    LeaseToAll();
    return;
  }
  const double now_s = options_.now_s();
  ++it->second.answered;
  it->second.last_answer_s = now_s;
  queue_.NoteLateAnswer(id, answer.adapter, answer.took_s, now_s);
}

void WorkerPool::Deliver(TaskId id, Answer answer) {
  const Task& task = tasks_.at(id);
  Report(task.asked->adapter, QueryEvent::kAnswered);
  cache_.Insert(task.key, PackIfReproducible(answer));
  if (census_.NoteAnswered(task.asked->adapter)) UpdateOfferedAdapters();
  Finish(id, std::move(answer));
}

void WorkerPool::OnHandedBack(WorkerId worker, TaskId task) {
  const MutexLock lock(mutex_);
  if (!queue_.HandBack(worker, task, options_.now_s())) return;
  tasks_.at(task).handed_back.try_emplace(
      workers_.at(worker).info.identity,
      FaultOf(worker,
              absl::StrCat(Text(workers_.at(worker).info),
                           ": handed back queries that others answer")));
  EndAttempt(task, worker, QueryEvent::kHandedBack);
  FailDisputed();
  LeaseToAll();
}

void WorkerPool::Tick() {
  const MutexLock lock(mutex_);
  const double now_s = options_.now_s();
  for (const WorkerId silent : queue_.SilentWorkers(now_s)) {
    workers_.at(silent).connection->Close();
    Remove(silent);
  }
  if (now_s - forgot_s_ > kForgetIntervalS) {
    forgot_s_ = now_s;
    for (auto& [id, worker] : workers_) {
      std::erase_if(worker.overtaken, [now_s](const auto& task) {
        return now_s - task.second.leased_s > SourceRecords::kMemoryS;
      });
    }
  }
  EndHolds();
  FailDisputed();
  LeaseToAll();
  // Queries that an idle worker has just taken too are left to both.
  RevokeOverdue();
  LeaseToAll();
}

absl::StatusOr<WorkerPool::BatchResult> WorkerPool::Run(
    const AdapterId& adapter, const SharedContext& context,
    absl::Span<const Query> queries, const BatchObserver& observer,
    const BatchShare& share) {
  const QueryScope scope{adapter, options_.share_answers ? "" : share.key};
  std::vector<Question> questions =
      QuestionsOf(scope, context.get(), queries,
                  /*with_bytes=*/options_.store != nullptr);
  LoadStored(scope, context, queries, questions);
  Waiter waiter{.slots = {queries.size(), std::nullopt}, .log = observer.log};

  BatchResult result;
  absl::Status status;
  {
    const MutexLock lock(mutex_);
    const BatchId batch = queue_.OpenBatch(adapter, share);
    const double began_s = options_.now_s();
    result.cache_hits =
        Enqueue(batch, scope, context, queries, std::move(questions), waiter);
    LeaseToAll();
    status = Await(adapter, began_s, waiter, observer);
    Abandon(batch, waiter);
  }
  if (!status.ok()) return status;
  if (waiter.Failed()) {
    if (observer.failed_unproven != nullptr) {
      *observer.failed_unproven = waiter.unproven.count(waiter.prefix) > 0;
    }
    return waiter.slots[waiter.prefix]->status();
  }
  result.answers.reserve(waiter.slots.size());
  for (auto& slot : waiter.slots) result.answers.push_back(**std::move(slot));
  return result;
}

void WorkerPool::LoadStored(const QueryScope& scope,
                            const SharedContext& context,
                            absl::Span<const Query> queries,
                            absl::Span<const Question> questions) {
  if (options_.store == nullptr) return;
  std::vector<size_t> indices;
  std::vector<Question> unknown;
  {
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < questions.size(); ++i) {
      if (!cache_.Contains(questions[i].key)) indices.push_back(i);
    }
  }
  if (indices.empty()) return;  // Saves a call to a store that may be slow.
  for (const size_t i : indices) unknown.push_back(questions[i]);
  const std::vector<std::optional<Answer>> answers =
      options_.store->Find(unknown);
  const PairContext no_context;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].has_value()) continue;
    const absl::Status status =
        CheckAnswer(context ? context->pairs : no_context, queries[indices[i]],
                    *answers[i], scope.adapter.name);
    if (!status.ok()) {
      options_.store->Drop(unknown[i].key, status);
      continue;
    }
    std::shared_ptr<const PackedAnswer> packed =
        PackIfReproducible(*answers[i]);
    const MutexLock lock(mutex_);
    cache_.Insert(unknown[i].key, std::move(packed));
  }
}

WorkerPoolCounts WorkerPool::Counts() {
  const MutexLock lock(mutex_);
  WorkerPoolCounts counts{
      .workers = static_cast<int>(workers_.size()),
      .slots = queue_.num_slots(),
      .pending = queue_.num_pending(),
      .leased = queue_.num_leased(),
      .oldest_lease_s = queue_.OldestLeaseS(options_.now_s()),
      .cache_entries = cache_.num_entries(),
      .cache_bytes = cache_.num_bytes()};
  counts.quarantined_away = quarantine_.num_held();
  // Walking thousands of workers a second is a part of what idle ones cost.
  if (num_offered_ == workers_.size()) return counts;
  std::set<WorkerIdentity> connected;
  for (const auto& [id, worker] : workers_) {
    counts.draining += worker.draining && !worker.quarantined;
    counts.quarantined += worker.quarantined;
    if (worker.quarantined) connected.insert(worker.info.identity);
  }
  counts.quarantined_away -= static_cast<int>(connected.size());
  return counts;
}

int WorkerPool::NumWorkers() {
  const MutexLock lock(mutex_);
  return static_cast<int>(workers_.size());
}

bool WorkerPool::HasWorkers() {
  const MutexLock lock(mutex_);
  return queue_.num_slots() > 0;
}

// For each query in order: takes the answer from the cache, else joins the
// equal task in flight, else adds a task. Returns the number of cache hits.
int64_t WorkerPool::Enqueue(BatchId batch, const QueryScope& scope,
                            const SharedContext& context,
                            absl::Span<const Query> queries,
                            std::vector<Question> questions, Waiter& waiter) {
  int64_t cache_hits = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    auto& [key, bytes] = questions[i];
    const std::shared_ptr<const PackedAnswer> known = cache_.Find(key);
    if (observer_ != nullptr) observer_->OnCacheLookup(known != nullptr);
    if (known != nullptr) {
      waiter.Deliver(i, known->Unpack());
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
    const auto [it, is_new] = in_flight_.try_emplace(key);
    if (is_new) {
      it->second = queue_.AddTask(batch);
      Task& task = tasks_[it->second];
      task.key = key;
      task.asked =
          std::make_shared<const Asked>(Asked{.adapter = scope.adapter,
                                              .tenant = scope.tenant,
                                              .context = context,
                                              .query = queries[i],
                                              .bytes = std::move(bytes)});
      task.asked_s = options_.now_s();
    } else if (being_kept_.count(it->second) == 0) {
      queue_.JoinTask(batch, it->second);
    }
    tasks_.at(it->second).waiting.emplace_back(&waiter, i);
  }
  return cache_hits;
}

// Waits until the waiter has finished. kUnavailable once no worker could serve
// the adapter for worker_wait_s, or once another version should: all workers of
// this one are in quarantine or silent. Calls the observer without the lock.
absl::Status WorkerPool::Await(const AdapterId& adapter, double began_s,
                               Waiter& waiter, const BatchObserver& observer) {
  const int total = static_cast<int>(waiter.slots.size());
  int reported = -1;
  double served_s = began_s;
  while (!waiter.Finished()) {
    const double now_s = options_.now_s();
    if (queue_.CanServe(adapter)) {
      served_s = now_s;
      if (IsSilentVersion(adapter, began_s)) return SilentVersion(adapter);
    } else if (now_s - served_s >= options_.worker_wait_s ||
               IsSuperseded(adapter)) {
      return NoWorkerFor(adapter.name);
    }
    changed_.WaitFor(mutex_, kPollInterval);
    const int done = waiter.num_done;
    bool stop = false;
    {
      const MutexUnlock unlock(mutex_);
      if (observer.progress && done != reported) observer.progress(done, total);
      stop = observer.should_stop && observer.should_stop();
    }
    reported = done;
    if (stop && !waiter.Finished()) return absl::CancelledError("stopped");
  }
  if (observer.progress && !waiter.Failed() && reported != total) {
    const MutexUnlock unlock(mutex_);
    observer.progress(total, total);
  }
  return absl::OkStatus();
}

// Closes the batch, answered or not. Cancels the leases of tasks that no other
// batch wants, and removes the waiter from the others.
void WorkerPool::Abandon(BatchId batch, const Waiter& waiter) {
  const WorkQueue::ClosedBatch closed = queue_.CloseBatch(batch);
  for (const auto& [worker, task] : closed.revoked) {
    workers_.at(worker).connection->Cancel(task);
    Report(tasks_.at(task).asked->adapter, QueryEvent::kCancelled);
  }
  for (const TaskId id : closed.dropped) {
    in_flight_.erase(tasks_.at(id).key);
    tasks_.erase(id);
    disputed_.erase(id);
  }
  if (waiter.num_done == static_cast<int>(waiter.slots.size())) return;
  for (auto& [id, task] : tasks_) {
    std::erase_if(task.waiting,
                  [&](const auto& entry) { return entry.first == &waiter; });
  }
  // The revoked leases have freed slots.
  LeaseToAll();
}

void WorkerPool::LeaseToAll() {
  const double now_s = options_.now_s();
  if (!queue_.MayLease(now_s)) return;
  for (const WorkerId id : queue_.LeaseOrder(now_s)) LeaseTo(id);
}

void WorkerPool::LeaseTo(WorkerId id) {
  std::vector<LeasedQuery> leases;
  for (const TaskId task_id : queue_.LeaseTo(id, options_.now_s())) {
    Task& task = tasks_.at(task_id);
    BeginAttempt(task, id);
    leases.push_back({.task = task_id,
                      .adapter = task.asked->adapter,
                      .context = task.asked->context,
                      .query = task.asked->query});
  }
  if (!leases.empty()) workers_.at(id).connection->Lease(std::move(leases));
}

// Forgets a worker. Its leases are queued again, stay with other holders, or
// fail with kInternal if they probably kill workers.
void WorkerPool::Remove(WorkerId id) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;
  if (observer_ != nullptr && !it->second.draining) {
    observer_->OnWorkerLost(it->second.info.name);
  }
  it->second.draining = true;
  last_loss_s_ = options_.now_s();
  UpdateOffer(it->second);
  const WorkerInfo worker = std::move(it->second.info);
  workers_.erase(it);
  const WorkQueue::LostLeases lost = queue_.RemoveWorker(id, options_.now_s());
  std::vector<TaskId> tasks = lost.requeued;
  tasks.insert(tasks.end(), lost.hedged.begin(), lost.hedged.end());
  for (const TaskId task : tasks) EndAttempt(task, id, QueryEvent::kLost);
  NoteLoss(worker, tasks);
  for (const auto& [task, num_losses] : lost.given_up) {
    EndAttempt(task, id, QueryEvent::kGivenUp);
    tasks_.at(task).given_up_by = worker.identity;
    Finish(
        task,
        absl::InternalError(absl::StrCat(
            "parallelizer ", tasks_.at(task).asked->adapter.name,
            ": a query was given up after workers were lost ", num_losses,
            " times while working on it (the last one: ", worker.name, ")")));
  }
  FailDisputed();
  LeaseToAll();
  changed_.NotifyAll();
}

// Delivers the answer to every waiter and logs the query.
void WorkerPool::Finish(TaskId id, absl::StatusOr<Answer> answer) {
  const Task task = std::move(tasks_.at(id));
  tasks_.erase(id);
  in_flight_.erase(task.key);
  disputed_.erase(id);
  bool finished = false;
  const bool is_unproven = !answer.ok() && IsUnproven(task);
  for (size_t i = 0; i < task.waiting.size(); ++i) {
    const auto& [waiter, slot] = task.waiting[i];
    if (is_unproven) waiter->unproven.insert(slot);
    if (waiter->log != nullptr) {
      waiter->log->OnQuery({.id = id,
                            .adapter = task.asked->adapter,
                            .context = task.asked->pairs(),
                            .query = task.asked->query,
                            .asked_s = task.asked_s,
                            .ended_s = options_.now_s(),
                            .code = answer.status().code(),
                            .attempts = task.attempts.attempts()});
    }
    const bool is_last = i + 1 == task.waiting.size();
    waiter->Deliver(slot, is_last ? std::move(answer) : answer);
    finished = finished || waiter->Finished();
  }
  if (finished) changed_.NotifyAll();
}

void WorkerPool::BeginAttempt(Task& task, WorkerId worker) {
  const bool is_first = task.attempts.attempts().empty();
  const double now_s = options_.now_s();
  const bool is_hedge =
      task.attempts.Begin(worker, workers_.at(worker).info.name, now_s);
  Report(task.asked->adapter, QueryEvent::kLeased);
  if (is_hedge) Report(task.asked->adapter, QueryEvent::kHedged);
  if (is_first && observer_ != nullptr) observer_->OnWait(now_s - task.asked_s);
}

void WorkerPool::EndAttempt(TaskId id, WorkerId worker, QueryEvent outcome) {
  Task& task = tasks_.at(id);
  task.attempts.End(worker, outcome, options_.now_s());
  Report(task.asked->adapter, outcome);
}

void WorkerPool::Report(const AdapterId& adapter, QueryEvent event) {
  if (observer_ != nullptr) observer_->OnQuery(adapter.name, event);
}

}  // namespace tangram
