// The part of WorkerPool that handles wrong answers and the workers that give
// them.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/check_answer.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {
namespace {

const PairContext kNoContext;
// An id that the queue never gives.
constexpr TaskId kNoTask = 0;

}  // namespace

std::string WorkerPool::Text(absl::string_view name,
                             absl::string_view version) {
  if (version.empty()) return absl::StrCat("worker ", name);
  return absl::StrCat("worker ", name, " (tangram ", version, ")");
}

// The one place that makes the texts of faults printable.
WorkerQuarantine::Fault WorkerPool::FaultOf(const WorkerInfo& worker,
                                            absl::string_view text) {
  return {.worker = worker.identity,
          .name = worker.name,
          .version = worker.version,
          .text = PrintableText(text, WorkerQuarantine::kMaxFaultBytes)};
}

WorkerQuarantine::Fault WorkerPool::FaultOf(const WorkerInfo& worker,
                                            const AdapterId& adapter,
                                            absl::string_view text) {
  return FaultOf(worker, absl::StrCat(Text(worker), ", adapter ", adapter.name,
                                      " ", adapter.version, ": ", text));
}

WorkerQuarantine::Fault WorkerPool::FaultOf(WorkerId worker,
                                            absl::string_view text) const {
  WorkerQuarantine::Fault fault = FaultOf(workers_.at(worker).info, text);
  fault.connection = worker;
  return fault;
}

WorkerQuarantine::Fault WorkerPool::FaultOf(WorkerId worker,
                                            const AdapterId& adapter,
                                            absl::string_view text) const {
  WorkerQuarantine::Fault fault =
      FaultOf(workers_.at(worker).info, adapter, text);
  fault.connection = worker;
  return fault;
}

absl::Status WorkerPool::Asked::Check(const Answer& answer) const {
  const PairContext& referred = pairs() == nullptr ? kNoContext : *pairs();
  TANGRAM_RETURN_IF_ERROR(CheckIndices(referred, query));
  return CheckAnswer(referred, query, answer, adapter.name);
}

std::vector<WorkerPool::LateAnswer> WorkerPool::Check(
    WorkerId worker, std::vector<WorkerAnswer>& answers) {
  std::vector<std::shared_ptr<const Asked>> asked(answers.size());
  std::map<size_t, Overtaken> overtaken;
  {
    const MutexLock lock(mutex_);
    const auto it = workers_.find(worker);
    for (size_t i = 0; i < answers.size(); ++i) {
      if (queue_.Holds(worker, answers[i].task)) {
        asked[i] = tasks_.at(answers[i].task).asked;
        continue;
      }
      // The id of a damaged answer may be damaged too.
      if (it != workers_.end() &&
          answers[i].rejection != RejectionReason::kDigest) {
        if (auto task = it->second.overtaken.extract(answers[i].task)) {
          overtaken[i] = std::move(task.mapped());
        }
      }
      // It must not be taken if the worker is leased the task before the
      // answers are accepted.
      answers[i].task = kNoTask;
    }
  }
  for (const auto& [i, task] : overtaken) asked[i] = task.asked;
  for (size_t i = 0; i < answers.size(); ++i) {
    WorkerAnswer& given = answers[i];
    if (given.rejection != RejectionReason::kNone) continue;
    if (!given.answer.ok()) {
      const absl::Status& error = given.answer.status();
      if (!IsVerdict(error)) {
        given.rejection = RejectionReason::kError;
        continue;
      }
      // It reaches the caller as it is. Other errors become faults.
      given.answer = absl::Status(
          error.code(),
          PrintableText(error.message(), WorkerQuarantine::kMaxFaultBytes));
    } else if (asked[i] != nullptr) {
      absl::Status status = asked[i]->Check(*given.answer);
      if (status.ok()) continue;
      given.answer = std::move(status);
      given.rejection = RejectionReason::kLaw;
    }
  }
  std::vector<LateAnswer> late;
  for (const auto& [i, task] : overtaken) {
    const WorkerAnswer& given = answers[i];
    const bool is_wrong = given.rejection == RejectionReason::kMessage ||
                          given.rejection == RejectionReason::kLaw;
    if (!given.answer.ok() && !is_wrong) continue;
    late.push_back({.adapter = task.asked->adapter,
                    .took_s = options_.now_s() - task.leased_s,
                    .rejection = given.rejection,
                    .fault = std::string(given.answer.status().message())});
  }
  return late;
}

// This connection never gets the query again, and no new one of the worker
// does. Its quarantine record grows. An error counts there only once another
// worker has answered: a question that no worker can answer must not put all of
// them in quarantine.
void WorkerPool::Reject(WorkerId id, const WorkerAnswer& answer) {
  if (answer.rejection == RejectionReason::kDigest) {
    RejectDamaged(id, answer);
    return;
  }
  // Answers to revoked leases come too late to count; for those of tasks in
  // which the worker was overtaken, see NoteLate.
  if (!queue_.Holds(id, answer.task)) return;
  const WorkerInfo& worker = workers_.at(id).info;
  Task& task = tasks_.at(answer.task);
  const AdapterId& adapter = task.asked->adapter;
  const WorkerQuarantine::Fault fault =
      FaultOf(id, adapter, answer.answer.status().message());
  ReportRejection(fault, adapter.name, answer.rejection);
  EndAttempt(answer.task, id, QueryEvent::kRejected);
  queue_.Refuse(id, answer.task);
  task.NoteRejected(worker.identity, options_.now_s());
  task.last_fault = fault.text;
  disputed_.insert(answer.task);
  if (answer.rejection == RejectionReason::kError) {
    task.errors.push_back(fault);
  } else {
    Blame(fault);
  }
  FailDisputed();
  LeaseToAll();
}

// The bytes are damaged, and the id of the lease among them may be. So all
// leases of the connection are revoked, and the connection ends. A worker that
// damages answers max_losses times while it holds a task does not get it again.
// A worker that holds nothing, and was not overtaken either, damaged no answer:
// that is between it and its connection.
void WorkerPool::RejectDamaged(WorkerId id, const WorkerAnswer& answer) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;
  const WorkerInfo worker = it->second.info;
  const absl::string_view message = answer.answer.status().message();
  const std::vector<TaskId> leases = queue_.LeasesOf(id);
  const bool owed_answer = !leases.empty() || !it->second.overtaken.empty();
  const WorkerQuarantine::Fault fault =
      FaultOf(id, absl::StrCat(Text(worker), ": ", message));
  ReportRejection(fault, /*adapter=*/"", answer.rejection);
  for (const TaskId lease : leases) {
    Task& task = tasks_.at(lease);
    if (++task.damaged[worker.identity] < options_.queue.max_losses) continue;
    task.NoteRejected(worker.identity, options_.now_s());
    task.last_fault = FaultOf(worker, task.asked->adapter, message).text;
    disputed_.insert(lease);
  }
  TakeBack(id);
  workers_.at(id).connection->Close();
  Remove(id);
  if (owed_answer) Blame(fault);
  FailDisputed();
  LeaseToAll();
}

void WorkerPool::ExcludeFromRejected(WorkerId id, const Worker& worker) {
  for (const TaskId task : disputed_) {
    if (tasks_.at(task).rejected.count(worker.info.identity) > 0) {
      queue_.Exclude(id, task);
    }
  }
}

// Without credentials, all workers of a host are one worker here. One of them
// alone may be at fault, so the others, if they answer, go on.
void WorkerPool::Blame(const WorkerQuarantine::Fault& fault) {
  if (HasSoundBeside(fault)) return BlameConnection(fault);
  if (quarantine_.NoteRejection(fault, options_.now_s())) {
    Quarantine(fault.worker);
  }
}

void WorkerPool::ReportRejection(const WorkerQuarantine::Fault& fault,
                                 const std::string& adapter,
                                 RejectionReason reason) {
  quarantine_.NoteFault(fault, options_.now_s());
  if (observer_ == nullptr) return;
  observer_->OnRejection({.worker = fault.worker,
                          .name = fault.name,
                          .version = fault.version,
                          .adapter = adapter,
                          .reason = reason,
                          .fault = fault.text});
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
    if (connected.info.identity != worker) continue;
    connected.quarantined = true;
    UpdateOffer(connected);
    TakeBack(id);
  }
  WithdrawVerdicts(worker);
  const WorkerQuarantine::Record* record = quarantine_.Find(worker);
  if (observer_ != nullptr) observer_->OnQuarantine(*record);
  changed_.NotifyAll();
}

bool WorkerPool::IsSource(absl::string_view text) const {
  const auto is_it = [&](const WorkerIdentity& identity) {
    return ToString(identity) == text;
  };
  const std::vector<WorkerQuarantine::Record> held = quarantine_.Held();
  return std::any_of(
             held.begin(), held.end(),
             [&](const auto& record) { return is_it(record.worker); }) ||
         std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
           return is_it(entry.second.info.identity);
         });
}

// Looks at connections too, because the record of one may be forgotten. Workers
// choose their names, so one named like the source of another is not meant.
absl::Status WorkerPool::ReleaseWorker(absl::string_view name_or_identity) {
  const MutexLock lock(mutex_);
  const bool is_source = IsSource(name_or_identity);
  const auto is_meant = [&](const std::string& name,
                            const WorkerIdentity& identity) {
    return (is_source ? ToString(identity) : name) == name_or_identity;
  };
  std::map<WorkerIdentity, WorkerQuarantine::Record> released;
  for (WorkerQuarantine::Record& record : quarantine_.Held()) {
    if (!is_meant(record.name, record.worker)) continue;
    record.held = false;
    released.emplace(record.worker, std::move(record));
  }
  for (const auto& [id, worker] : workers_) {
    const WorkerInfo& info = worker.info;
    if (!worker.quarantined || !is_meant(info.name, info.identity)) continue;
    released.try_emplace(info.identity,
                         WorkerQuarantine::Record{.worker = info.identity,
                                                  .name = info.name,
                                                  .version = info.version});
  }
  if (released.empty()) {
    return absl::NotFoundError(absl::StrCat("worker: \"", name_or_identity,
                                            "\"; expected one in quarantine"));
  }
  for (const auto& [identity, record] : released) {
    quarantine_.Release(identity);
    if (observer_ != nullptr) observer_->OnQuarantine(record);
  }
  for (const auto& [identity, record] : released)
    ResumeAll(identity, /*also_alone=*/true);
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
    if (record.held) {
      status.quarantined_s = now_s - record.held_since_s;
      status.quarantine_left_s = std::max(record.held_until_s - now_s, 0.0);
    }
    status.rejected = record.rejections;
    status.last_fault = record.last_fault;
  };
  std::set<WorkerIdentity> connected;
  for (const auto& [id, worker] : workers_) {
    all.push_back({.info = worker.info,
                   .draining = worker.draining,
                   .quarantined = worker.quarantined,
                   .leased = queue_.num_leased_to(id),
                   .believed_slots = queue_.believed_slots(id),
                   .answered = worker.answered,
                   .busy_s = worker.busy_s,
                   .connected_s = now_s - worker.since_s,
                   .silent_s = now_s - queue_.last_heard_s(id)});
    connected.insert(worker.info.identity);
    if (const auto* record = quarantine_.Find(worker.info.identity)) {
      add_faults(*record);
    }
  }
  for (const WorkerQuarantine::Record& record : quarantine_.Held()) {
    if (connected.count(record.worker) > 0) continue;
    all.push_back({.info = {.name = record.name,
                            .version = record.version,
                            .capacity = 0,
                            .identity = record.worker},
                   .connected = false,
                   .quarantined = true});
    add_faults(record);
  }
  return all;
}

std::vector<std::string> WorkerPool::QuarantinedFor(
    absl::string_view adapter) const {
  std::vector<std::string> names;
  for (const auto& [id, worker] : workers_) {
    if (worker.quarantined && !worker.draining && worker.info.Offers(adapter)) {
      names.push_back(worker.info.name);
    }
  }
  return names;
}

absl::Status WorkerPool::NoWorkerFor(absl::string_view adapter) const {
  // Keeps the error short. `tangram worker list` names all.
  constexpr size_t kNamed = 5;
  std::vector<std::string> held = QuarantinedFor(adapter);
  std::string quarantined;
  if (!held.empty()) {
    const size_t num_held = held.size();
    held.resize(std::min(num_held, kNamed));
    quarantined = absl::StrCat(", ", num_held,
                               " in quarantine: ", absl::StrJoin(held, ", "),
                               num_held > kNamed ? ", ..." : "");
  }
  return absl::UnavailableError(
      absl::StrCat("no worker offers adapter \"", adapter, "\" (",
                   workers_.size(), " workers connected", quarantined, ")"));
}

}  // namespace tangram
