// The part of WorkerPool that keeps workers from holding up others: those that
// take queries and give nothing for them.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {
namespace {

// A worker is idle if it held a query for so many times as long as another one
// took to answer it. Slow machines are quicker than that.
constexpr double kIdleFor = 4;

}  // namespace

bool WorkerPool::HasSoundBeside(const WorkerQuarantine::Fault& fault) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const auto& [id, worker] = entry;
    return id != fault.connection && !worker.quarantined &&
           worker.info.identity == fault.worker && worker.answered > 0;
  });
}

// A new connection of the worker starts over, but WorkerAdmission lets it have
// few.
void WorkerPool::BlameConnection(const WorkerQuarantine::Fault& fault) {
  quarantine_.NoteBeside(fault, options_.now_s());
  const auto it = workers_.find(fault.connection);
  if (it == workers_.end()) return;
  Worker& worker = it->second;
  const int limit = options_.quarantine.max_rejections;
  if (limit == 0 || worker.quarantined || ++worker.num_faults < limit) return;
  worker.quarantined = true;
  worker.is_quarantined_alone = true;
  UpdateOffer(worker);
  TakeBack(fault.connection);
  if (observer_ != nullptr) {
    observer_->OnQuarantine({.worker = fault.worker,
                             .name = fault.name,
                             .version = fault.version,
                             .last_fault = fault.text,
                             .held = true});
  }
  changed_.NotifyAll();
}

// While others of its identity answer, the queue lets a useless connection
// pause, which is enough.
void WorkerPool::BlameUseless(const WorkerQuarantine::Fault& fault) {
  if (HasSoundBeside(fault)) {
    quarantine_.NoteFault(fault, options_.now_s());
    return;
  }
  const bool is_new = !queue_.sources().HasAnswered(fault.worker);
  if (quarantine_.NoteUseless(fault, is_new, options_.now_s())) {
    Quarantine(fault.worker);
  }
}

void WorkerPool::BlameIdle(const Task& task, WorkerId worker,
                           const std::vector<WorkerId>& others) {
  const double now_s = options_.now_s();
  double took_s = 0;
  std::map<WorkerId, double> held_s;
  for (const QueryAttempt& attempt : task.attempts.attempts()) {
    if (attempt.worker_id == worker) took_s = now_s - attempt.leased_s;
    held_s[attempt.worker_id] = now_s - attempt.leased_s;
  }
  for (const WorkerId other : others) {
    const auto it = workers_.find(other);
    if (it == workers_.end() ||
        it->second.info.identity == workers_.at(worker).info.identity ||
        held_s[other] < kIdleFor * took_s ||
        held_s[other] < options_.queue.new_hedge_after_s) {
      continue;
    }
    BlameUseless(FaultOf(
        other, task.asked->adapter,
        absl::StrFormat("no answer for %.1f s to a query that another worker "
                        "answered in %.1f s",
                        held_s[other], took_s)));
  }
}

void WorkerPool::RevokeOverdue() {
  const WorkQueue::Overdue overdue = queue_.RevokeOverdue(options_.now_s());
  std::vector<WorkerQuarantine::Fault> faults;
  for (const auto& [worker, task] : overdue.revoked) {
    workers_.at(worker).connection->Cancel(task);
    EndAttempt(task, worker, QueryEvent::kTimedOut);
    faults.push_back(FaultOf(worker, tasks_.at(task).asked->adapter,
                             "no answer in time; the query was asked again "
                             "elsewhere"));
  }
  for (const WorkerQuarantine::Fault& fault : faults) BlameUseless(fault);
  for (const TaskId task : overdue.stale) EndStale(task);
}

void WorkerPool::EndStale(TaskId id) {
  std::set<std::string> names;
  for (const WorkerId holder : queue_.HoldersOf(id)) {
    names.insert(workers_.at(holder).info.name);
    workers_.at(holder).connection->Cancel(id);
    EndAttempt(id, holder, QueryEvent::kTimedOut);
  }
  queue_.GiveUp(id, options_.now_s());
  const AdapterId& adapter = tasks_.at(id).asked->adapter;
  Report(adapter, QueryEvent::kFailed);
  Finish(id, absl::UnavailableError(absl::StrCat(
                 "parallelizer ", adapter.name,
                 ": no worker answered a query in time (the last one: ",
                 names.empty() ? "none" : *names.begin(), ")")));
}

// A worker that nobody can replace is better than none.
bool WorkerPool::IsNeeded(const WorkerIdentity& identity) const {
  for (const auto& [id, worker] : workers_) {
    if (worker.info.identity != identity || worker.draining) continue;
    for (const AdapterInfo& adapter : worker.info.adapters) {
      if (!census_.Best(adapter.id.name).has_value()) return true;
    }
  }
  return false;
}

void WorkerPool::EndHolds() {
  if (quarantine_.num_held() == 0) return;
  const double now_s = options_.now_s();
  for (WorkerQuarantine::Record& record : quarantine_.Held()) {
    if (!record.is_held_for_a_while() ||
        (now_s < record.held_until_s && !IsNeeded(record.worker))) {
      continue;
    }
    quarantine_.EndHold(record.worker);
    ResumeAll(record.worker, /*also_alone=*/false);
    record.held = false;
    if (observer_ != nullptr) observer_->OnQuarantine(record);
    changed_.NotifyAll();
  }
}

void WorkerPool::ResumeAll(const WorkerIdentity& identity, bool also_alone) {
  for (auto& [id, worker] : workers_) {
    if (!worker.quarantined || worker.info.identity != identity ||
        (worker.is_quarantined_alone && !also_alone)) {
      continue;
    }
    worker.quarantined = false;
    worker.is_quarantined_alone = false;
    worker.num_faults = 0;
    queue_.Resume(id);
    UpdateOffer(worker);
  }
}

void WorkerPool::OnProtocolFault(WorkerId id, const absl::Status& status) {
  const MutexLock lock(mutex_);
  if (workers_.count(id) == 0) return;
  const WorkerQuarantine::Fault fault = FaultOf(
      id, absl::StrCat(Text(workers_.at(id).info), ": ", status.message()));
  ReportRejection(fault, /*adapter=*/"", RejectionReason::kMessage);
  BlameUseless(fault);
}

void WorkerPool::OnChurn(const WorkerIdentity& source,
                         const absl::Status& refusal) {
  const MutexLock lock(mutex_);
  std::string name = "unknown";
  for (const auto& [id, worker] : workers_) {
    if (worker.info.identity == source) name = worker.info.name;
  }
  if (const auto* record = quarantine_.Find(source)) name = record->name;
  BlameUseless(FaultOf({.name = name, .identity = source}, refusal.message()));
}

}  // namespace tangram
