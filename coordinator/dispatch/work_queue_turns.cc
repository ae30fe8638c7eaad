// The part of WorkQueue that decides which worker is leased which task, how
// many and when.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "coordinator/dispatch/work_queue.h"

namespace tangram {
namespace {

// The most tasks leased in advance to a worker, per slot. They hide a round
// trip as long as seven tasks.
constexpr int64_t kMaxPrefetch = 7;
// The most seconds of work leased in advance per slot. Batches wait for it.
constexpr double kMaxPrefetchS = 1;
// More tasks are leased in advance while they take no longer than this: they
// share a message, which costs as much as some ten of them.
constexpr double kShortPrefetchS = 0.005;
// The weight of the last task in a worker's pace. The last four tasks make up
// two thirds of it: 1 - (1 - 1/4)^4 = 0.68.
constexpr double kPaceWeight = 0.25;
// The least patience is 1/32 of hedge_after_s: a second or so. A silent worker
// costs no more, and a slow one keeps its tasks for long enough to answer short
// ones.
constexpr int kMaxHalvings = 5;
// An idle worker takes a task that another one has held for so many times the
// longest that such tasks took. Tasks of one adapter differ, but the longest of
// the last 30 or so is rarely exceeded so much.
constexpr double kMuchLonger = 4;
// A worker keeps a task for at most so many times the longest that its own
// took. Then it probably never answers.
constexpr double kOverdue = 16;
constexpr double kOnceAnswered = 10;
// A task ends unanswered after so many times task_limit_s.
constexpr double kStale = 4;

}  // namespace

// Returns whether `worker` offers the adapter of `task` and has not refused it.
bool WorkQueue::MayHave(WorkerId worker, TaskId task) const {
  const Task& wanted = tasks_.at(task);
  return workers_.at(worker).adapters.count(AdapterOf(wanted)) > 0 &&
         wanted.refused.count(worker) == 0;
}

const AdapterId& WorkQueue::AdapterOf(const Task& task) const {
  return batches_.at(task.batches.front()).adapter;
}

// Returns whether a worker that could be leased `task` has an identity that is
// wanted.
bool WorkQueue::AnyTaker(
    const Task& task,
    absl::FunctionRef<bool(const WorkerIdentity&)> wanted) const {
  const auto takers = takers_.find(AdapterOf(task));
  if (takers == takers_.end()) return false;
  for (const auto& [identity, connections] : takers->second) {
    const bool may_have =
        std::any_of(connections.begin(), connections.end(),
                    [&](WorkerId id) { return task.refused.count(id) == 0; });
    if (may_have && wanted(identity)) return true;
  }
  return false;
}

// Returns whether no other worker comes first. Workers with fewer setbacks do,
// for a while: they may all be busy for long.
bool WorkQueue::IsInTurn(const Worker& worker, const Task& task,
                         double now_s) const {
  const auto own = task.setbacks.find(worker.identity);
  if (own == task.setbacks.end() ||
      now_s - own->second.last_s > options_.hedge_after_s) {
    return true;
  }
  return !AnyTaker(task, [&](const WorkerIdentity& other) {
    const auto theirs = task.setbacks.find(other);
    return theirs == task.setbacks.end() ||
           theirs->second.count < own->second.count;
  });
}

bool WorkQueue::HasHolderOf(const Task& task,
                            const WorkerIdentity& identity) const {
  return std::any_of(task.holders.begin(), task.holders.end(),
                     [&](const Holder& holder) {
                       return workers_.at(holder.worker).identity == identity;
                     });
}

std::vector<WorkerId> WorkQueue::LeaseOrder(double now_s) const {
  std::vector<std::tuple<int, bool, double, WorkerId>> ranks;
  ranks.reserve(workers_.size());
  for (const auto& [id, worker] : workers_) {
    ranks.emplace_back(sources_.TimesOvertaken(worker.identity, now_s),
                       !sources_.HasAnswered(worker.identity),
                       worker.pace_s.value_or(0), id);
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<WorkerId> order;
  order.reserve(ranks.size());
  for (const auto& rank : ranks) order.push_back(std::get<WorkerId>(rank));
  return order;
}

// Updates the pace p, the seconds that a task takes in one slot. A worker with
// c slots ends c tasks in the time of one, so n answers in a message at time t
// after the previous one at t', the first for a task leased at time s, give
//
//   p ← p + (1 - (1 - w)^n)·((t − max(s, t'))·c / n − p),    w = kPaceWeight.
//
// The first message sets p.
void WorkQueue::NotePace(Worker& worker, const Task& task, WorkerId id) {
  for (const Holder& holder : task.holders) {
    if (holder.worker != id) continue;
    Message& last = worker.last_message;
    if (last.num_answers == 0 || worker.last_heard_s > last.at_s) {
      const double began_s = std::max(holder.since_s, last.at_s);
      last = {.at_s = worker.last_heard_s,
              .took_s = std::max(worker.last_heard_s - began_s, 0.0) *
                        worker.capacity,
              .pace_before_s = worker.pace_s};
    }
    ++last.num_answers;
    last.weight_before *= 1 - kPaceWeight;
    const double took_s = last.took_s / last.num_answers;
    const double before_s = last.pace_before_s.value_or(took_s);
    worker.pace_s = took_s + last.weight_before * (before_s - took_s);
    NoteTook(worker, AdapterOf(task), worker.last_heard_s - holder.since_s,
             worker.last_heard_s);
  }
}

void WorkQueue::NoteTook(Worker& worker, const AdapterId& adapter,
                         double took_s, double now_s) {
  worker.took[adapter].Note(took_s);
  times_.Note(adapter, worker.identity, took_s, now_s);
}

// Without authentication, a slow worker and a quick one of a host are one
// source, so the worker's own times come first.
Took WorkQueue::TookBy(WorkerId id, const AdapterId& adapter) const {
  const Worker& worker = workers_.at(id);
  const auto own = worker.took.find(adapter);
  return own != worker.took.end() && own->second.IsTelling()
             ? own->second
             : times_.Of(adapter, worker.identity);
}

// A worker says how many tasks it runs at once. It is believed as far as it has
// shown: its window w begins at first_slots, and
//
//   w ← min(w + 1, slots) with each right answer,
//   w ← max(⌊w / 2⌋, 1) with each task that it fails: overtaken, handed back,
//   rejected or overdue.
//
// So a new worker gets twice as many tasks in each round, and one that delivers
// nothing holds up few, whatever it says.
void WorkQueue::NoteSetback(WorkerId id) {
  Worker& worker = workers_.at(id);
  SetWindow(worker, worker.window / 2);
}

void WorkQueue::SetWindow(Worker& worker, int window) {
  CountSlots(worker, -1);
  worker.window =
      std::clamp(window, 1, std::max(worker.capacity, options_.first_slots));
  CountSlots(worker, 1);
}

// The records of sources tell nothing about connections of one identity, so the
// pause of such a connection is its own.
void WorkQueue::NoteOvertaken(const Holder& slower, const WorkerIdentity& by,
                              double now_s) {
  Worker& worker = workers_.at(slower.worker);
  NoteSetback(slower.worker);
  const double held_s = now_s - slower.since_s;
  if (worker.identity != by) {
    sources_.NoteOvertaken(worker.identity, held_s, now_s);
    return;
  }
  const int times = std::min(++worker.num_overtaken_beside, 60);
  worker.paused_until_s =
      now_s + std::min(std::ldexp(held_s, times), options_.hedge_after_s);
}

// Returns whether the connection pauses. It does not while all others pause
// that take leases of what it offers.
bool WorkQueue::IsPausedBeside(WorkerId id, double now_s) const {
  const Worker& paused = workers_.at(id);
  if (now_s >= paused.paused_until_s) return false;
  return std::any_of(
      paused.adapters.begin(), paused.adapters.end(),
      [&](const AdapterId& adapter) {
        const auto takers = takers_.find(adapter);
        if (takers == takers_.end()) return false;
        int64_t count = 0;
        for (const auto& [who, connections] : takers->second) {
          count += std::count_if(
              connections.begin(), connections.end(), [&](WorkerId other) {
                return workers_.at(other).paused_until_s <= now_s;
              });
        }
        return count > 0;
      });
}

// Returns the most leases of `worker`. With c its believed slots, S the slots
// of all workers, p its pace and n the pending tasks,
//
//   limit = c·(1 + min(max(min(⌊kMaxPrefetchS / p⌋, kMaxPrefetch),
//                          min(⌊kShortPrefetchS / p⌋, kMostPrefetch)),
//                      ⌊max(n − S, 0) / (2·S)⌋)).
//
// So the tasks leased in advance are at most half of those that must wait
// anyway, and take the worker at most kMaxPrefetchS.
size_t WorkQueue::LeaseLimit(const Worker& worker) const {
  // The pace is unknown until the first answer.
  if (!worker.pace_s.has_value()) return worker.slots();
  const int64_t slots = num_slots_;
  const int64_t behind = std::max(num_pending_ - slots, int64_t{0});
  const auto within = [&](double seconds, int64_t most) {
    return *worker.pace_s * static_cast<double>(most) > seconds
               ? static_cast<int64_t>(seconds / *worker.pace_s)
               : most;
  };
  const int64_t in_time = std::max(within(kMaxPrefetchS, kMaxPrefetch),
                                   within(kShortPrefetchS, kMostPrefetch));
  return worker.slots() * (1 + std::min(in_time, behind / (2 * slots)));
}

// Returns whether a source that pauses until `until_s`, or has not answered
// since, is leased a task now. It gets one at a time over all its connections,
// and none in the pause while another source offers what it offers: each may
// hold up a batch.
bool WorkQueue::MayTry(const Worker& paused, double until_s,
                       double now_s) const {
  const bool holds_one =
      std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
        const Worker& worker = entry.second;
        return worker.identity == paused.identity && !worker.leases.empty();
      });
  if (holds_one) return false;
  if (now_s > until_s) return true;
  return std::none_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& worker = entry.second;
    return worker.takes_leases() &&
           !sources_.PausedUntil(worker.identity, now_s).has_value() &&
           std::any_of(worker.adapters.begin(), worker.adapters.end(),
                       [&](const AdapterId& adapter) {
                         return paused.adapters.count(adapter) > 0;
                       });
  });
}

// Takes a task by stride scheduling (Waldspurger and Weihl, 1995). It serves
// the batch b with the least next turn, among those with a task for the worker.
// With T the latest turn,
//
//   T ← max(T, next(b)),    next(b) ← T + stride(b).
//
// Ties go to the oldest batch. Tasks that the worker must not get are passed
// over; they are rare. O(batches) without them.
bool WorkQueue::TakePending(WorkerId id, double now_s, TaskId* task) {
  const Worker& worker = workers_.at(id);
  Batch* next = nullptr;
  std::deque<TaskId>::iterator first;
  for (auto& [batch_id, batch] : batches_) {
    if (batch.pending.empty() ||
        (next != nullptr && batch.next_turn >= next->next_turn) ||
        worker.adapters.count(batch.adapter) == 0) {
      continue;
    }
    const auto allowed = std::find_if(
        batch.pending.begin(), batch.pending.end(), [&](TaskId pending) {
          const Task& waiting = tasks_.at(pending);
          return waiting.refused.count(id) == 0 &&
                 IsInTurn(worker, waiting, now_s);
        });
    if (allowed == batch.pending.end()) continue;
    next = &batch;
    first = allowed;
  }
  if (next == nullptr) return false;
  // A batch does not catch up on turns that it missed without a worker.
  turn_ = std::max(turn_, next->next_turn);
  next->next_turn = turn_ + Stride(*next);
  *task = *first;
  next->pending.erase(first);
  --num_pending_;
  return true;
}

// Returns the turns until the next one of `batch`, the inverse of its part of
// its key's share. With w = 2^priority and the sum over the batches of the same
// key that have pending tasks,
//
//   stride(b) = Σ_b' w(b') / w(b).
//
// The inverse strides of a key's batches add up to 1, so all keys get the same
// number of turns.
double WorkQueue::Stride(const Batch& batch) const {
  double total = 0;
  for (const auto& [id, other] : batches_) {
    if (other.share_key == batch.share_key && !other.pending.empty()) {
      total += other.weight;
    }
  }
  return total / batch.weight;
}

// Finds a task that is due for another holder. A worker whose identity holds it
// already takes it only if no other worker could.
bool WorkQueue::FindStraggler(WorkerId worker, double now_s,
                              TaskId* task) const {
  const Worker& idle = workers_.at(worker);
  std::map<AdapterId, double> patience_s;
  for (const auto& [earliest_s, id] : hedges_) {
    if (earliest_s >= now_s) return false;
    const Task& held = tasks_.at(id);
    if (Holds(worker, id) || !MayHave(worker, id)) continue;
    const auto [patience, is_new] = patience_s.try_emplace(AdapterOf(held));
    if (is_new) patience->second = Patience(worker, patience->first);
    if (HedgeAt(held, patience->second) >= now_s) continue;
    if (HasHolderOf(held, idle.identity) && HasOther(held, idle.identity)) {
      continue;
    }
    *task = id;
    return true;
  }
  return false;
}

// Returns whether a worker of another identity holds `task` or could take it.
bool WorkQueue::HasOther(const Task& task,
                         const WorkerIdentity& identity) const {
  return std::any_of(task.holders.begin(), task.holders.end(),
                     [&](const Holder& holder) {
                       return workers_.at(holder.worker).identity != identity;
                     }) ||
         AnyTaker(task, [&](const WorkerIdentity& other) {
           return other != identity;
         });
}

// Returns for how long an idle worker leaves a task to another one: much longer
// than its own tasks took, so that no other can make it wait or hurry. A new
// source goes by the others, until it has answered a few.
double WorkQueue::Patience(WorkerId idle, const AdapterId& adapter) const {
  const Took took = TookBy(idle, adapter);
  const std::optional<double> longest_s =
      took.IsTelling() ? took.longest_s : times_.Usual(adapter);
  if (!longest_s.has_value()) return options_.hedge_after_s;
  return std::min(kMuchLonger * *longest_s, options_.hedge_after_s);
}

// Returns when an idle worker of that patience may take the task too. The last
// holder took it at t and had been overtaken k times. Among the others, a have
// answered a task in their connection, and n none yet:
//
//   at = t + max(patience · 2^−(n + k), hedge_after · 2^−kMaxHalvings) · 2^a,
//
// where the patience with a source that has never answered is at most
// new_hedge_after.
//
// So a task that takes long occupies few workers. Workers that stay silent
// about it, however many, do not keep it from the others for ever; those that
// never answered add up to 2 · patience and a second each.
double WorkQueue::HedgeAt(const Task& task, double patience_s) const {
  const Holder& last = task.holders.back();
  int doublings = 0;
  int halvings =
      sources_.TimesOvertaken(workers_.at(last.worker).identity, last.since_s);
  for (const Holder& holder : task.holders) {
    if (&holder == &last) break;
    const bool has_answered = workers_.at(holder.worker).pace_s.has_value();
    ++(has_answered ? doublings : halvings);
  }
  if (!sources_.HasAnswered(workers_.at(last.worker).identity)) {
    patience_s = std::min(patience_s, options_.new_hedge_after_s);
  }
  const double waits_s =
      std::max(std::ldexp(patience_s, -halvings),
               std::ldexp(options_.hedge_after_s, -kMaxHalvings));
  return last.since_s + std::ldexp(waits_s, doublings);
}

// Returns how long the last holder of `task` may keep it. With l the longest
// that its tasks of this adapter took lately, and r the leases of the task that
// were revoked for their age,
//
//   limit = max(kOverdue * l, base * 2^r),
//
// but at most task_limit: a search takes no longer, or will not end. The base
// is hedge_after, or kOnceAnswered times that if its source has answered before
// and may be in a long search.
double WorkQueue::TimeLimit(const Task& task) const {
  const Holder& last = task.holders.back();
  const Took took = TookBy(last.worker, AdapterOf(task));
  const double longest_s = took.IsTelling() ? took.longest_s : 0;
  const bool has_answered =
      sources_.HasAnswered(workers_.at(last.worker).identity);
  const double base_s =
      (has_answered ? kOnceAnswered : 1) * options_.hedge_after_s;
  const double limit_s = std::max(
      kOverdue * longest_s, std::ldexp(base_s, std::min(task.num_overdue, 60)));
  return std::min(limit_s, options_.task_limit_s);
}

WorkQueue::Overdue WorkQueue::RevokeOverdue(double now_s) {
  Overdue overdue;
  std::vector<TaskId> late;
  for (const auto& [earliest_s, id] : hedges_) {
    const Task& task = tasks_.at(id);
    if (now_s - task.first_leased_s > kStale * options_.task_limit_s) {
      overdue.stale.push_back(id);
    } else if (now_s - task.holders.back().since_s > TimeLimit(task)) {
      late.push_back(id);
    }
  }
  for (const TaskId id : late) {
    Task& task = tasks_.at(id);
    const Holder last = task.holders.back();
    const WorkerIdentity identity = workers_.at(last.worker).identity;
    if (!AnyTaker(task, [&](const WorkerIdentity& other) {
          return other != identity && !HasHolderOf(task, other);
        })) {
      continue;
    }
    ++task.num_overdue;
    Setbacks& setbacks = task.setbacks[identity];
    ++setbacks.count;
    setbacks.last_s = now_s;
    NoteSetback(last.worker);
    sources_.NoteOvertaken(identity, now_s - last.since_s, now_s);
    overdue.revoked.push_back({last.worker, id});
    PutBack(last.worker, id);
  }
  return overdue;
}

// Returns whether `task` probably kills its workers. With ℓ(w) the times that
// identity w was lost with it, W the identities that are trusted, or all if
// none of those could take it next, and m the least ℓ of the members of W that
// could take it next and of the one lost now, it does if
//
//   |{w ∈ W: ℓ(w) > 0}| ≥ max_losses   or   Σ_{w ∈ W} min(ℓ(w), m) ≥
//   max_losses,
//
// and, if W is all, each that could take it next was lost with it and the first
// loss was give_up_after_s ago. So workers that go away again and again,
// however many, cannot end the task while one that is known to answer may still
// try or soon come; a sole worker that dies of it can.
bool WorkQueue::IsHopeless(const Task& task, const WorkerIdentity& lost,
                           double now_s) const {
  const auto losses_of = [&task](const WorkerIdentity& who) {
    const auto it = task.setbacks.find(who);
    return it == task.setbacks.end() ? 0 : it->second.num_losses;
  };
  const auto is_trusted = [&](const WorkerIdentity& who) {
    return sources_.IsTrusted(who, now_s);
  };
  const bool all_count = !AnyTaker(task, is_trusted);
  const auto counts = [&](const WorkerIdentity& who) {
    return all_count || is_trusted(who);
  };
  int least = counts(lost) ? losses_of(lost) : options_.max_losses;
  AnyTaker(task, [&](const WorkerIdentity& who) {
    if (counts(who)) least = std::min(least, losses_of(who));
    return least == 0;
  });
  if (all_count && (least == 0 || !task.first_lost_s.has_value() ||
                    now_s - *task.first_lost_s < options_.give_up_after_s)) {
    return false;
  }
  int num_identities = 0;
  int sum = 0;
  for (const auto& [who, setbacks] : task.setbacks) {
    if (!counts(who)) continue;
    num_identities += setbacks.num_losses > 0;
    sum += std::min(setbacks.num_losses, least);
  }
  return std::max(num_identities, sum) >= options_.max_losses;
}

}  // namespace tangram
