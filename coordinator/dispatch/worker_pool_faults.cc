// The part of WorkerPool that handles wrong answers and the workers that give
// them.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/check_answer.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {
namespace {

const PairContext kNoContext;

std::string Text(const WorkerIdentity& worker) {
  if (worker.version.empty()) return absl::StrCat("worker ", worker.name);
  return absl::StrCat("worker ", worker.name, " (tangram ", worker.version,
                      ")");
}

}  // namespace

absl::Status WorkerPool::Asked::Check(const Answer& answer) const {
  const PairContext& referred = pairs() == nullptr ? kNoContext : *pairs();
  TANGRAM_RETURN_IF_ERROR(CheckIndices(referred, query));
  return CheckAnswer(referred, query, answer, adapter.name);
}

// An id that the queue never gives.
constexpr TaskId kNoTask = 0;

void WorkerPool::Check(WorkerId worker, std::vector<WorkerAnswer>& answers) {
  std::vector<std::shared_ptr<const Asked>> asked(answers.size());
  {
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i].answer.ok()) continue;
      if (queue_.Holds(worker, answers[i].task)) {
        asked[i] = tasks_.at(answers[i].task).asked;
      } else {
        // It is not checked, so it must not be taken if the worker is leased
        // the task before the answers are accepted.
        answers[i].task = kNoTask;
      }
    }
  }
  for (size_t i = 0; i < answers.size(); ++i) {
    if (asked[i] == nullptr) continue;
    absl::Status status = asked[i]->Check(*answers[i].answer);
    if (status.ok()) continue;
    answers[i].answer = std::move(status);
    answers[i].rejection = RejectionReason::kLaw;
  }
}

// The worker never gets the query again, and its quarantine record grows. If a
// corrupt answer names no lease of the worker, the connection is closed.
void WorkerPool::Reject(WorkerId id, const WorkerAnswer& answer) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;
  const WorkerIdentity worker = it->second.identity();
  const bool is_held = queue_.Holds(id, answer.task);
  // Answers to revoked leases come too late to count.
  if (!is_held && answer.rejection != RejectionReason::kDigest) return;
  AdapterId adapter;
  if (is_held) adapter = tasks_.at(answer.task).asked->adapter;
  const std::string fault = absl::StrCat(
      Text(worker),
      is_held ? absl::StrCat(", adapter ", adapter.name, " ", adapter.version)
              : absl::StrCat(", lease ", answer.task),
      ": ", answer.answer.status().message());
  if (observer_ != nullptr) {
    observer_->OnRejection({.worker = worker,
                            .adapter = adapter.name,
                            .reason = answer.rejection,
                            .fault = fault});
  }
  if (is_held) {
    EndAttempt(answer.task, id, QueryEvent::kRejected);
    queue_.Refuse(id, answer.task);
    Task& task = tasks_.at(answer.task);
    ++task.num_rejections;
    task.last_fault = fault;
    disputed_.insert(answer.task);
  }
  const bool is_one_too_many =
      quarantine_.NoteRejection(worker, fault, options_.now_s());
  if (is_one_too_many) Quarantine(worker);
  if (!is_held && answer.rejection == RejectionReason::kDigest) {
    // The lease that this answer was for is unknown, so all are revoked.
    TakeBack(id);
    workers_.at(id).connection->Close();
    Remove(id);
  }
  FailDisputed();
  LeaseToAll();
}

// A disputed task fails if no worker could answer it, or if no worker holds it
// and it was rejected max_losses times.
void WorkerPool::FailDisputed() {
  std::vector<TaskId> hopeless;
  for (const TaskId id : disputed_) {
    const bool is_enough =
        tasks_.at(id).num_rejections >= options_.queue.max_losses &&
        !queue_.IsHeld(id);
    if (is_enough || !queue_.CanServe(id)) hopeless.push_back(id);
  }
  for (const TaskId id : hopeless) {
    queue_.GiveUp(id);
    const Task& task = tasks_.at(id);
    Report(task.asked->adapter, QueryEvent::kFailed);
    Finish(id, absl::InternalError(task.last_fault));
  }
}

void WorkerPool::TakeBack(WorkerId worker) {
  for (const TaskId task : queue_.Suspend(worker)) {
    workers_.at(worker).connection->Cancel(task);
    EndAttempt(task, worker, QueryEvent::kHandedBack);
  }
}

// Suspends all connections of the worker and revokes their leases.
void WorkerPool::Quarantine(const WorkerIdentity& worker) {
  for (auto& [id, connected] : workers_) {
    if (connected.identity() != worker) continue;
    connected.quarantined = true;
    UpdateOffer(connected);
    TakeBack(id);
  }
  if (observer_ != nullptr) observer_->OnQuarantine(worker, /*held=*/true);
  changed_.NotifyAll();
}

absl::Status WorkerPool::ReleaseWorker(absl::string_view name) {
  const MutexLock lock(mutex_);
  const std::vector<WorkerQuarantine::Record> held = quarantine_.Held();
  if (quarantine_.Release(name) == 0) {
    return absl::NotFoundError(
        absl::StrCat("worker: \"", name, "\"; expected one in quarantine"));
  }
  for (const WorkerQuarantine::Record& record : held) {
    if (record.worker.name == name && observer_ != nullptr) {
      observer_->OnQuarantine(record.worker, /*held=*/false);
    }
  }
  for (auto& [id, worker] : workers_) {
    if (worker.info.name != name || !worker.quarantined) continue;
    worker.quarantined = false;
    queue_.Resume(id);
    UpdateOffer(worker);
  }
  LeaseToAll();
  changed_.NotifyAll();
  return absl::OkStatus();
}

std::vector<PoolWorkerStatus> WorkerPool::Workers() {
  const MutexLock lock(mutex_);
  const double now_s = options_.now_s();
  std::vector<PoolWorkerStatus> all;
  const auto add_faults = [&](const WorkerQuarantine::Record& record) {
    PoolWorkerStatus& status = all.back();
    status.quarantined = record.held;
    if (record.held) status.quarantined_s = now_s - record.held_since_s;
    status.rejected = record.rejections;
    status.last_fault = record.last_fault;
  };
  std::set<WorkerIdentity> connected;
  for (const auto& [id, worker] : workers_) {
    all.push_back({.info = worker.info,
                   .draining = worker.draining,
                   .leased = queue_.num_leased_to(id),
                   .answered = worker.answered,
                   .busy_s = worker.busy_s,
                   .connected_s = now_s - worker.since_s,
                   .silent_s = now_s - queue_.last_heard_s(id)});
    connected.insert(worker.identity());
    if (const auto* record = quarantine_.Find(worker.identity())) {
      add_faults(*record);
    }
  }
  for (const WorkerQuarantine::Record& record : quarantine_.Held()) {
    if (connected.count(record.worker) > 0) continue;
    all.push_back({.info = {.name = record.worker.name,
                            .version = record.worker.version,
                            .capacity = 0},
                   .connected = false});
    add_faults(record);
  }
  return all;
}

std::vector<std::string> WorkerPool::QuarantinedFor(
    absl::string_view adapter) const {
  std::vector<std::string> names;
  for (const auto& [id, worker] : workers_) {
    const bool offers = std::any_of(
        worker.info.adapters.begin(), worker.info.adapters.end(),
        [&](const AdapterInfo& info) { return info.id.name == adapter; });
    if (worker.quarantined && !worker.draining && offers) {
      names.push_back(worker.info.name);
    }
  }
  return names;
}

absl::Status WorkerPool::NoWorkerFor(absl::string_view adapter) const {
  constexpr size_t kNamed = 5;
  std::vector<std::string> held = QuarantinedFor(adapter);
  std::string quarantined;
  if (!held.empty()) {
    const size_t num_held = held.size();
    held.resize(std::min(num_held, kNamed));
    quarantined = absl::StrCat(
        ", ", num_held,
        " in quarantine for wrong answers: ", absl::StrJoin(held, ", "),
        num_held > kNamed ? ", ..." : "");
  }
  return absl::UnavailableError(
      absl::StrCat("no worker offers adapter \"", adapter, "\" (",
                   workers_.size(), " workers connected", quarantined, ")"));
}

}  // namespace tangram
