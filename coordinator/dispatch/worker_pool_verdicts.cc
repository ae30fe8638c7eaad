// The part of WorkerPool that holds queries which some workers failed to answer
// against the answers of others.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/printable_text.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {
namespace {

// A worker without an answer for so many times hedge_after_s is silent. One
// that has answered before is known to work, and may be in a long search.
constexpr double kPatience = 2;
constexpr double kPatienceOnceAnswered = 10;
// If it is known how long its answers take, it is not waited for much longer.
constexpr double kPatientFor = 16;
// Names in an error. `tangram worker list` has the faults of all.
constexpr size_t kNamed = 3;
// Far more than the adapters that exist.
constexpr size_t kMaxLoneVerdicts = 1 << 10;

}  // namespace

// A few workers could end every plan with a verdict, so all others that offer
// the adapter are asked, one after the other, those that have answered before
// first. The first answer wins that is not an error: it can be checked, and a
// verdict cannot. The verdict stands once nobody else can be asked; see
// FailDisputed.
void WorkerPool::NoteVerdict(WorkerId id, const WorkerAnswer& answer) {
  if (!queue_.Holds(id, answer.task)) return;  // It comes too late.
  const WorkerInfo& worker = workers_.at(id).info;
  const absl::Status& error = answer.answer.status();
  Task& task = tasks_.at(answer.task);
  task.verdicts.try_emplace(
      worker.identity,
      Verdict{.error = error,
              .is_proven = queue_.sources().HasAnswered(worker.identity),
              .fault = FaultOf(id, task.asked->adapter, error.message()),
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
}

// The accepted answer shows that the question can be answered. A worker that
// was lost with it, and answers it now or has answered another since, was not
// at fault: the process may have been restarted.
void WorkerPool::BlameOthers(Task& task, const WorkerIdentity& worker) {
  if (task.errors.empty() && task.verdicts.empty() && task.losses.empty() &&
      task.handed_back.empty()) {
    return;
  }
  for (const auto& error : std::exchange(task.errors, {})) Blame(error);
  for (const auto& [identity, verdict] : std::exchange(task.verdicts, {})) {
    ReportRejection(verdict.fault, task.asked->adapter.name,
                    RejectionReason::kError);
    Blame(verdict.fault);
  }
  for (const auto& [identity, fault] : std::exchange(task.handed_back, {})) {
    if (identity != worker) BlameUseless(fault);
  }
  for (const auto& [identity, loss] : std::exchange(task.losses, {})) {
    if (identity == worker || HasAnsweredSince(identity, loss->lost_s) ||
        std::exchange(loss->is_counted, true)) {
      continue;
    }
    if (quarantine_.NoteLoss(loss->fault, loss->lost_s, options_.now_s())) {
      Quarantine(identity);
    }
    if (!queue_.sources().HasAnswered(identity)) BlameUseless(loss->fault);
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
  if (tasks.empty()) return;
  const double now_s = options_.now_s();
  const auto loss = std::make_shared<Loss>(
      Loss{.fault = FaultOf(worker, absl::StrCat(Text(worker),
                                                 ": lost while it held queries "
                                                 "that others answer")),
           .lost_s = now_s});
  bool others_answer = false;
  for (const TaskId task : tasks) {
    tasks_.at(task).losses[worker.identity] = loss;
    others_answer = others_answer || queue_.HasProvenTaker(task);
  }
  if (!others_answer || queue_.sources().HasAnswered(worker.identity)) return;
  loss->is_counted = true;
  if (quarantine_.NoteLoss(loss->fault, now_s, now_s)) {
    Quarantine(worker.identity);
  }
  BlameUseless(loss->fault);
}

// Different verdicts: the one that most give; among equals, kUnimplemented,
// which says less. Its text is that of most workers that have answered before.
absl::Status WorkerPool::Task::Failure(bool is_sole) const {
  if (verdicts.empty()) return absl::InternalError(last_fault);
  const size_t num_milder =
      std::count_if(verdicts.begin(), verdicts.end(), [](const auto& verdict) {
        return absl::IsUnimplemented(verdict.second.error);
      });
  const absl::StatusCode code = 2 * num_milder >= verdicts.size()
                                    ? absl::StatusCode::kUnimplemented
                                    : absl::StatusCode::kInvalidArgument;
  std::vector<std::string> names;
  std::map<absl::string_view, std::pair<int, int>> votes;
  const Verdict* best = nullptr;
  for (const auto& [identity, verdict] : verdicts) {
    if (verdict.error.code() != code) continue;
    names.push_back(Text(verdict.fault.name, verdict.fault.version));
    auto& [num_proven, num_all] = votes[verdict.error.message()];
    num_proven += verdict.is_proven;
    ++num_all;
  }
  for (const auto& [identity, verdict] : verdicts) {
    if (verdict.error.code() != code) continue;
    if (best == nullptr ||
        votes.at(verdict.error.message()) > votes.at(best->error.message())) {
      best = &verdict;
    }
  }
  // Plans quote it, and must not depend on who was asked.
  if (is_sole && code == absl::StatusCode::kUnimplemented) return best->error;
  if (names.size() == 1) return {code, best->fault.text};
  const size_t num_more = names.size() - std::min(names.size(), kNamed);
  names.resize(names.size() - num_more);
  return {
      code,
      PrintableText(
          absl::StrCat(
              absl::StrJoin(names, ", "),
              num_more > 0 ? absl::StrCat(" and ", num_more, " others") : "",
              " agree, adapter ", asked->adapter.name, " ",
              asked->adapter.version, ": ", best->error.message()),
          WorkerQuarantine::kMaxFaultBytes)};
}

void WorkerPool::Task::NoteRejected(const WorkerIdentity& worker,
                                    double now_s) {
  if (rejected.empty()) first_rejected_s = now_s;
  if (rejected.insert(worker).second) rejected_s = now_s;
}

bool WorkerPool::IsSilent(const Worker& worker, double since_s,
                          double patience_s) const {
  const double quiet_since_s =
      std::max({since_s, worker.since_s, worker.last_answer_s});
  return options_.now_s() - quiet_since_s > patience_s;
}

double WorkerPool::PatienceWith(WorkerId worker,
                                const AdapterId& adapter) const {
  return std::clamp(kPatientFor * queue_.TookBy(worker, adapter).longest_s,
                    kPatience * options_.queue.hedge_after_s,
                    kPatienceOnceAnswered * options_.queue.hedge_after_s);
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
    if (!queue_.CanServe(worker_id, id) ||
        queue_.sources().IsSilent(worker.info.identity, options_.now_s())) {
      continue;
    }
    const double patience_s =
        queue_.Holds(worker_id, id)
            ? PatienceWith(worker_id, task.asked->adapter)
            : options_.queue.hedge_after_s *
                  (worker.answered > 0 ? kPatienceOnceAnswered : kPatience);
    if (!IsSilent(worker, since_s, patience_s)) return false;
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

// A bad worker may be the first to join after a start, and would end all that
// waits for the good ones. One that joins again and again holds up nothing for
// longer.
bool WorkerPool::AwaitsNewcomers(const Task& task) const {
  const double since_s = options_.now_s() - options_.newcomers_wait_s;
  return last_join_s_ > since_s && task.first_rejected_s > since_s &&
         NumProven(task.rejected) == 0;
}

int64_t WorkerPool::NumProven(const std::set<WorkerIdentity>& sources) const {
  return std::count_if(sources.begin(), sources.end(),
                       [this](const WorkerIdentity& source)
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                             return queue_.sources().HasAnswered(source);
                           });
}

// A query that ended by losses is judged by those who were lost with it. One
// that ended by a failure is too if it took several proven workers down; a
// single one may have been restarted.
bool WorkerPool::IsUnproven(const Task& task) const {
  std::set<WorkerIdentity> proven;
  for (const auto& [identity, loss] : task.losses) {
    if (queue_.sources().HasAnswered(identity)) proven.insert(identity);
  }
  if (!task.given_up_by.has_value()) {
    return NumProven(task.rejected) == 0 && proven.size() < 2;
  }
  return proven.empty() && !queue_.sources().HasAnswered(*task.given_up_by);
}

// Plans leave out an adapter that does not know the model, and are kept.
void WorkerPool::NoteLoneVerdict(const Task& task) {
  if (task.verdicts.size() != 1 || lone_verdicts_.size() >= kMaxLoneVerdicts) {
    return;
  }
  const auto& [worker, verdict] = *task.verdicts.begin();
  if (!absl::IsUnimplemented(verdict.error)) return;
  lone_verdicts_[task.asked->adapter] = worker;
}

void WorkerPool::ForgetLoneVerdicts(const WorkerInfo& worker) {
  if (lone_verdicts_.empty()) return;
  const size_t num_before = lone_verdicts_.size();
  for (const AdapterInfo& adapter : worker.adapters) {
    const auto lone = lone_verdicts_.find(adapter.id);
    if (lone == lone_verdicts_.end() || lone->second == worker.identity) {
      continue;
    }
    lone_verdicts_.erase(lone);
  }
  if (lone_verdicts_.size() == num_before) return;
  ++verdict_era_;
  UpdateOfferedAdapters();
}

// Connections of one worker count once. Workers that are busy are waited for,
// because the others may have lied; those that stay silent are not.
void WorkerPool::FailDisputed() {
  std::vector<std::pair<TaskId, absl::Status>> hopeless;
  for (const TaskId id : disputed_) {
    const Task& task = tasks_.at(id);
    const bool is_sole = !queue_.CanServe(id);
    if (is_sole ? !AwaitsNewcomers(task) : IsJudged(id, task)) {
      NoteLoneVerdict(task);
      hopeless.emplace_back(id, task.Failure(is_sole));
    }
  }
  for (const auto& [id, failure] : hopeless) {
    for (const WorkerId holder : queue_.HoldersOf(id)) {
      workers_.at(holder).connection->Cancel(id);
      EndAttempt(id, holder, QueryEvent::kCancelled);
    }
    queue_.GiveUp(id, options_.now_s());
    Report(tasks_.at(id).asked->adapter, QueryEvent::kFailed);
    Finish(id, failure);
  }
}

}  // namespace tangram
