// The part of WorkerPool that holds queries which some workers failed to answer
// against the answers of others.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {
namespace {

// A worker without an answer for so many times hedge_after_s is silent. One
// that has answered before is known to work, and may be in a long search.
constexpr double kPatience = 2;
constexpr double kPatienceOnceAnswered = 10;

}  // namespace

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
  task.NoteRejected(worker.identity, options_.now_s());
  disputed_.insert(answer.task);
  FailDisputed();
  LeaseToAll();
  return false;
}

// The accepted answer shows that the question can be answered. A worker that
// was lost with it, and answers it now or has answered another since, was not
// at fault: the process may have been restarted. Other errors count whoever
// answers.
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
    if (identity == worker || HasAnsweredSince(identity, loss->lost_s) ||
        std::exchange(loss->is_counted, true)) {
      continue;
    }
    if (quarantine_.NoteLoss(loss->fault, loss->lost_s, options_.now_s())) {
      Quarantine(identity);
    }
  }
  FailDisputed();
  LeaseToAll();
}

bool WorkerPool::HasAnsweredSince(const WorkerIdentity& identity,
                                  double since_s) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& worker = entry.second;
    return worker.info.identity == identity && worker.answered > 0 &&
           worker.last_answer_s > since_s;
  });
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
absl::Status WorkerPool::Task::Failure(bool is_sole) const {
  if (verdicts.empty()) return absl::InternalError(last_fault);
  const Verdict* first = nullptr;
  for (const auto& [identity, verdict] : verdicts) {
    const bool is_milder = first != nullptr &&
                           !absl::IsUnimplemented(first->error) &&
                           absl::IsUnimplemented(verdict.error);
    if (first == nullptr || is_milder) first = &verdict;
  }
  // Plans quote it, and must not depend on who was asked.
  if (is_sole && absl::IsUnimplemented(first->error)) return first->error;
  return {first->error.code(), first->fault.text};
}

void WorkerPool::Task::NoteRejected(const WorkerIdentity& worker,
                                    double now_s) {
  if (rejected.insert(worker).second) rejected_s = now_s;
}

bool WorkerPool::IsSilent(const Worker& worker, double since_s,
                          double patience) const {
  const bool has_answered = worker.answered > 0;
  const double quiet_since_s =
      std::max({since_s, worker.since_s, worker.last_answer_s});
  return options_.now_s() - quiet_since_s >
         options_.queue.hedge_after_s * patience *
             (has_answered ? kPatienceOnceAnswered : kPatience);
}

bool WorkerPool::IsJudged(TaskId id, const Task& task) const {
  double since_s = options_.now_s();
  if (task.verdicts.empty()) {
    const int num_workers = static_cast<int>(task.rejected.size());
    if (num_workers < options_.queue.max_losses) return false;
    since_s = task.rejected_s;
  }
  for (const auto& [identity, verdict] : task.verdicts) {
    since_s = std::min(since_s, verdict.given_s);
  }
  for (const auto& [worker_id, worker] : workers_) {
    if (queue_.CanServe(worker_id, id) && !IsSilent(worker, since_s)) {
      return false;
    }
  }
  return true;
}

// The task is not asked there again.
void WorkerPool::WithdrawVerdicts(const WorkerIdentity& worker) {
  for (const TaskId id : disputed_) {
    Task& task = tasks_.at(id);
    const auto verdict = task.verdicts.find(worker);
    if (verdict == task.verdicts.end()) continue;
    task.last_fault = verdict->second.fault.text;
    task.verdicts.erase(verdict);
  }
}

// Connections of one worker count once. Workers that are busy are waited for,
// because the others may have lied; those that stay silent are not.
void WorkerPool::FailDisputed() {
  std::vector<std::pair<TaskId, absl::Status>> hopeless;
  for (const TaskId id : disputed_) {
    const Task& task = tasks_.at(id);
    const bool is_sole = !queue_.CanServe(id);
    if (is_sole || IsJudged(id, task)) {
      hopeless.emplace_back(id, task.Failure(is_sole));
    }
  }
  for (const auto& [id, failure] : hopeless) {
    for (const WorkerId holder : queue_.HoldersOf(id)) {
      workers_.at(holder).connection->Cancel(id);
      EndAttempt(id, holder, QueryEvent::kCancelled);
      queue_.Refuse(holder, id);
    }
    queue_.GiveUp(id);
    Report(tasks_.at(id).asked->adapter, QueryEvent::kFailed);
    Finish(id, failure);
  }
}

}  // namespace tangram
