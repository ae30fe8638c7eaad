#include "coordinator/dispatch/overtaken_workers.h"

#include <algorithm>

namespace tangram {

void OvertakenWorkers::Note(const WorkerIdentity& worker, double now_s) {
  const int before = Count(worker, now_s);
  if (records_.count(worker) == 0) MakeRoom(now_s);
  records_[worker] = {.count = before + 1, .last_s = now_s};
}

int OvertakenWorkers::Count(const WorkerIdentity& worker, double now_s) const {
  const auto it = records_.find(worker);
  if (it == records_.end() || now_s - it->second.last_s > kMemoryS) return 0;
  return it->second.count;
}

void OvertakenWorkers::NoteAnswer(const WorkerIdentity& worker) {
  const auto it = records_.find(worker);
  if (it != records_.end()) it->second.has_answered = true;
}

std::optional<double> OvertakenWorkers::SilentSince(
    const WorkerIdentity& worker, double now_s) const {
  if (Count(worker, now_s) == 0) return std::nullopt;
  const Record& record = records_.at(worker);
  if (record.has_answered) return std::nullopt;
  return record.last_s;
}

void OvertakenWorkers::MakeRoom(double now_s) {
  if (records_.size() < kMaxRecords) return;
  std::erase_if(records_, [now_s](const auto& record) {
    return now_s - record.second.last_s > kMemoryS;
  });
  if (records_.size() < kMaxRecords) return;
  records_.erase(std::min_element(records_.begin(), records_.end(),
                                  [](const auto& a, const auto& b) {
                                    return a.second.last_s < b.second.last_s;
                                  }));
}

}  // namespace tangram
