// The part of WorkerPool that holds queries which some workers failed to answer
// against the answers of others.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {

// One worker could end every plan with a verdict, so a second identity is asked
// where one offers the adapter. The first contradiction wins that is not an
// error. A verdict is delivered once a second identity gives the same, and
// stands if nobody else can be asked; see FailDisputed.
bool WorkerPool::Believe(WorkerId id, const WorkerAnswer& answer) {
  // It comes too late. Accept ignores it.
  if (!queue_.Holds(id, answer.task)) return true;
  const WorkerInfo& worker = workers_.at(id).info;
  const absl::Status& error = answer.answer.status();
  Task& task = tasks_.at(answer.task);
  for (const auto& [identity, verdict] : task.verdicts) {
    if (identity != worker.identity && verdict.error.code() == error.code()) {
      return true;
    }
  }
  const AdapterId& adapter = task.asked->adapter;
  task.verdicts.try_emplace(
      worker.identity,
      Verdict{.error = error,
              .fault = FaultOf(
                  worker,
                  absl::StrCat(Text(worker), ", adapter ", adapter.name, " ",
                               adapter.version, ": ", error.message())),
              .given_s = options_.now_s()});
  task.attempts.End(id, QueryEvent::kFailed, options_.now_s());
  queue_.Refuse(id, answer.task);
  for (const auto& [other, connected] : workers_) {
    if (connected.info.identity == worker.identity) {
      queue_.Exclude(other, answer.task);
    }
  }
  task.rejected.insert(worker.identity);
  disputed_.insert(answer.task);
  FailDisputed();
  LeaseToAll();
  return false;
}

// The accepted answer shows that the question can be answered. A worker that
// was lost with it and answers it now was not at fault: the process may have
// been restarted. Other errors count whoever answers.
void WorkerPool::BlameOthers(Task& task, const WorkerIdentity& worker,
                             bool is_ok) {
  if (task.errors.empty() && task.verdicts.empty() && task.losses.empty()) {
    return;
  }
  for (const auto& error : std::exchange(task.errors, {})) Blame(error);
  for (const auto& [identity, verdict] : std::exchange(task.verdicts, {})) {
    if (!is_ok) continue;
    ReportRejection(verdict.fault, task.asked->adapter.name,
                    RejectionReason::kError);
    Blame(verdict.fault);
  }
  for (const auto& [identity, loss] : std::exchange(task.losses, {})) {
    if (identity == worker || std::exchange(loss->is_counted, true)) continue;
    if (quarantine_.NoteLoss(loss->fault, loss->lost_s, options_.now_s())) {
      Quarantine(identity);
    }
  }
  FailDisputed();
  LeaseToAll();
}

void WorkerPool::NoteLoss(const WorkerInfo& worker,
                          const std::vector<TaskId>& tasks) {
  const auto loss = std::make_shared<Loss>(
      Loss{.fault = FaultOf(worker, absl::StrCat(Text(worker),
                                                 ": lost while it held queries "
                                                 "that others answered")),
           .lost_s = options_.now_s()});
  for (const TaskId task : tasks) {
    tasks_.at(task).losses[worker.identity] = loss;
  }
}

// Among different verdicts, kUnimplemented: it says less.
absl::Status WorkerPool::Task::Failure() const {
  if (verdicts.empty()) return absl::InternalError(last_fault);
  const Verdict* first = nullptr;
  for (const auto& [identity, verdict] : verdicts) {
    // Plans quote it, and must not depend on who was asked.
    if (absl::IsUnimplemented(verdict.error)) return verdict.error;
    if (first == nullptr) first = &verdict;
  }
  return {first->error.code(), first->fault.text};
}

bool WorkerPool::Task::IsJudged(double before_s) const {
  return std::any_of(verdicts.begin(), verdicts.end(), [&](const auto& entry) {
    return entry.second.given_s < before_s;
  });
}

// A disputed task fails if no worker could answer it, or if no worker holds it
// and max_losses workers answered wrongly. Connections of one worker count
// once. A worker that stays silent about a verdict, or is busy, does not keep
// callers waiting for it.
void WorkerPool::FailDisputed() {
  const double judged_before_s =
      options_.now_s() - options_.queue.hedge_after_s;
  std::vector<TaskId> hopeless;
  for (const TaskId id : disputed_) {
    const Task& task = tasks_.at(id);
    const int num_workers = static_cast<int>(task.rejected.size());
    const bool is_enough =
        num_workers >= options_.queue.max_losses && !queue_.IsHeld(id);
    if (is_enough || task.IsJudged(judged_before_s) || !queue_.CanServe(id)) {
      hopeless.push_back(id);
    }
  }
  for (const TaskId id : hopeless) {
    for (const WorkerId holder : queue_.HoldersOf(id)) {
      workers_.at(holder).connection->Cancel(id);
      EndAttempt(id, holder, QueryEvent::kCancelled);
      queue_.Refuse(holder, id);
    }
    queue_.GiveUp(id);
    const Task& task = tasks_.at(id);
    Report(task.asked->adapter, QueryEvent::kFailed);
    Finish(id, task.Failure());
  }
}

}  // namespace tangram
