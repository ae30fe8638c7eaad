#include "coordinator/dispatch/worker_quarantine.h"

#include <utility>

namespace tangram {
namespace {

// The most workers remembered, more than one coordinator has. Names come from
// outside, so their number must be bounded.
constexpr size_t kMaxEntries = 1 << 14;

}  // namespace

// Keeps the times t of the last k = max_rejections wrong answers. A worker
// enters quarantine when there are k and now − t_oldest ≤ window_s.
bool WorkerQuarantine::NoteRejection(const WorkerIdentity& worker,
                                     const std::string& fault, double now_s) {
  const auto [it, is_new] = entries_.try_emplace(worker);
  Entry& entry = it->second;
  Record& record = entry.record;
  record.worker = worker;
  record.last_fault = fault;
  ++record.rejections;
  // Oldest first.
  entry.recent_s.push_back(now_s);
  const size_t limit = static_cast<size_t>(options_.max_rejections);
  if (entry.recent_s.size() > limit) entry.recent_s.pop_front();
  const bool is_held_now = !record.held && limit > 0 &&
                           entry.recent_s.size() == limit &&
                           entry.recent_s.front() >= now_s - options_.window_s;
  if (is_held_now) {
    record.held = true;
    record.held_since_s = now_s;
    ++num_held_;
  }
  if (is_new) ForgetOne();
  return is_held_now;
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

int WorkerQuarantine::Release(absl::string_view name) {
  const int before = num_held_;
  std::erase_if(entries_, [&](const auto& entry) {
    if (entry.first.name != name) return false;
    num_held_ -= entry.second.record.held;
    return true;
  });
  return before - num_held_;
}

std::vector<WorkerQuarantine::Record> WorkerQuarantine::Held() const {
  std::vector<Record> held;
  for (const auto& [worker, entry] : entries_) {
    if (entry.record.held) held.push_back(entry.record);
  }
  return held;
}

// Forgets a worker that is not in quarantine, if there are too many.
void WorkerQuarantine::ForgetOne() {
  if (entries_.size() <= kMaxEntries) return;
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->second.record.held) continue;
    entries_.erase(it);
    return;
  }
}

}  // namespace tangram
