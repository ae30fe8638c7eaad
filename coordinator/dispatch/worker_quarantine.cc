#include "coordinator/dispatch/worker_quarantine.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tangram {

void WorkerQuarantine::NoteFault(const Fault& fault, double now_s) {
  EntryOf(fault, now_s);
}

bool WorkerQuarantine::NoteRejection(const Fault& fault, double now_s) {
  return Note(fault, now_s, /*is_loss=*/false);
}

// Keeps the times t of the last k = max_rejections wrong answers and losses. A
// worker enters quarantine when there are k and now − t_oldest ≤ window_s.
bool WorkerQuarantine::Note(const Fault& fault, double now_s, bool is_loss) {
  Entry& entry = EntryOf(fault, now_s);
  Record& record = entry.record;
  ++record.rejections;
  entry.recent.push_back({now_s, is_loss});
  const size_t limit = static_cast<size_t>(options_.max_rejections);
  if (entry.recent.size() > limit) entry.recent.pop_front();
  const bool is_enough =
      limit > 0 && entry.recent.size() == limit &&
      entry.recent.front().noted_s >= now_s - options_.window_s;
  return is_enough && Hold(record, kInfinity, now_s);
}

bool WorkerQuarantine::Hold(Record& record, double until_s, double now_s) {
  record.held_until_s =
      record.held ? std::max(record.held_until_s, until_s) : until_s;
  if (record.held) return false;
  record.held = true;
  record.held_since_s = now_s;
  ++num_held_;
  return true;
}

bool WorkerQuarantine::NoteUseless(const Fault& fault, bool is_new,
                                   double now_s) {
  if (options_.max_rejections == 0 || options_.first_hold_s == 0) return false;
  Entry& entry = EntryOf(fault, now_s);
  if (entry.last_useless_s.has_value() &&
      now_s - *entry.last_useless_s < kApartS) {
    return false;
  }
  entry.last_useless_s = now_s;
  ++entry.record.rejections;
  ++entry.num_useless;
  const int limit = is_new || entry.num_holds > 0 ? 1 : options_.max_rejections;
  if (entry.record.held || entry.num_useless < limit) return false;
  const int doublings = std::min(entry.num_holds++, kMaxDoublings);
  entry.num_useless = 0;
  return Hold(entry.record,
              now_s + std::ldexp(options_.first_hold_s, doublings), now_s);
}

void WorkerQuarantine::NoteBeside(const Fault& fault, double now_s) {
  ++EntryOf(fault, now_s).record.rejections;
}

bool WorkerQuarantine::NoteLoss(const Fault& fault, double lost_s,
                                double now_s) {
  const auto it = entries_.find(fault.worker);
  if (it != entries_.end() && it->second.last_loss_s.has_value() &&
      std::abs(lost_s - *it->second.last_loss_s) < options_.losses_apart_s) {
    return false;
  }
  const bool is_held_now = Note(fault, now_s, /*is_loss=*/true);
  entries_.at(fault.worker).last_loss_s = lost_s;
  return is_held_now;
}

void WorkerQuarantine::NoteAnswer(const WorkerIdentity& worker) {
  const auto it = entries_.find(worker);
  if (it == entries_.end()) return;
  std::erase_if(it->second.recent,
                [](const Rejection& rejection) { return rejection.is_loss; });
  it->second.num_useless = 0;
  it->second.num_holds = 0;
}

bool WorkerQuarantine::Holds(const WorkerIdentity& worker) const {
  const Record* record = Find(worker);
  return record != nullptr && record->held;
}

const WorkerQuarantine::Record* WorkerQuarantine::Find(
    const WorkerIdentity& worker) const {
  const auto it = entries_.find(worker);
  return it == entries_.end() ? nullptr : &it->second.record;
}

bool WorkerQuarantine::Release(const WorkerIdentity& worker) {
  if (!Holds(worker)) return false;
  entries_.erase(worker);
  --num_held_;
  return true;
}

void WorkerQuarantine::EndHold(const WorkerIdentity& worker) {
  const auto it = entries_.find(worker);
  if (it == entries_.end() || !it->second.record.is_held_for_a_while()) return;
  it->second.record.held = false;
  --num_held_;
}

std::vector<WorkerQuarantine::Record> WorkerQuarantine::Held() const {
  std::vector<Record> held;
  for (const auto& [worker, entry] : entries_) {
    if (entry.record.held) held.push_back(entry.record);
  }
  return held;
}

WorkerQuarantine::Entry& WorkerQuarantine::EntryOf(const Fault& fault,
                                                   double now_s) {
  // Makes room first, so that the new record is not the one that goes.
  if (entries_.count(fault.worker) == 0) ForgetOne();
  Entry& entry = entries_[fault.worker];
  entry.record.worker = fault.worker;
  entry.record.name = fault.name;
  entry.record.version = fault.version;
  entry.record.last_fault = fault.text;
  entry.last_s = now_s;
  return entry;
}

void WorkerQuarantine::ForgetOne() {
  if (entries_.size() < kMaxSources) return;
  const auto worth = [](const auto& entry) {
    const Record& record = entry.second.record;
    return std::tuple(record.held, record.rejections > 0, entry.second.last_s);
  };
  const auto least = std::min_element(
      entries_.begin(), entries_.end(),
      [&](const auto& a, const auto& b) { return worth(a) < worth(b); });
  num_held_ -= least->second.record.held;
  entries_.erase(least);
}

}  // namespace tangram
