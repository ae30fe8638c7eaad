#include "coordinator/dispatch/source_records.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tangram {

void SourceRecords::NoteOvertaken(const WorkerIdentity& worker, double held_s,
                                  double now_s) {
  const int before = TimesOvertaken(worker, now_s);
  Record& record = RecordOf(worker, now_s);
  record.num_overtaken = before + 1;
  record.overtaken_s = now_s;
  record.long_pause_s = std::ldexp(held_s, record.num_overtaken);
  ++record.num_in_row;
}

void SourceRecords::NoteAnswer(const WorkerIdentity& worker, double now_s) {
  Record& record = RecordOf(worker, now_s);
  record.has_answered = true;
  record.num_in_row = 0;
  record.num_left_in_row = 0;
}

void SourceRecords::NoteLoss(const WorkerIdentity& worker, double now_s) {
  Record& record = RecordOf(worker, now_s);
  if (now_s - record.last_loss_s > kMemoryS) record.num_losses = 0;
  ++record.num_losses;
  record.last_loss_s = now_s;
  NoteLeft(record, now_s);
}

void SourceRecords::NoteHandedBack(const WorkerIdentity& worker, double now_s) {
  NoteLeft(RecordOf(worker, now_s), now_s);
}

void SourceRecords::NoteLeft(Record& record, double now_s) {
  const double since_s = now_s - record.last_left_s;
  if (since_s > kMemoryS) record.num_left_in_row = 0;
  // A host that restarts ends all its connections at once.
  if (since_s < first_pause_s_ / 2) return;
  ++record.num_left_in_row;
  record.last_left_s = now_s;
}

std::optional<double> SourceRecords::PausedUntil(const WorkerIdentity& worker,
                                                 double now_s) const {
  std::optional<double> until_s;
  if (const Record* record = FindPaused(worker, now_s)) {
    until_s =
        record->overtaken_s +
        (record->has_answered ? std::min(record->long_pause_s, max_pause_s_)
                              : max_pause_s_);
  }
  const Record* record = Find(worker);
  if (record != nullptr && record->num_left_in_row > 1 &&
      now_s - record->last_left_s <= kMemoryS) {
    const double pause_s = std::min(
        std::ldexp(first_pause_s_, std::min(record->num_left_in_row - 2, 60)),
        max_pause_s_);
    until_s = std::max(until_s.value_or(kNever), record->last_left_s + pause_s);
  }
  return until_s;
}

bool SourceRecords::IsSilent(const WorkerIdentity& worker, double now_s) const {
  const Record* record = FindPaused(worker, now_s);
  return record != nullptr && record->long_pause_s >= max_pause_s_ &&
         (!record->has_answered || record->num_in_row > 1);
}

int SourceRecords::TimesOvertaken(const WorkerIdentity& worker,
                                  double now_s) const {
  const Record* record = Find(worker);
  if (record == nullptr || now_s - record->overtaken_s > kMemoryS) return 0;
  return record->num_overtaken;
}

bool SourceRecords::HasAnswered(const WorkerIdentity& worker) const {
  const Record* record = Find(worker);
  return record != nullptr && record->has_answered;
}

bool SourceRecords::IsTrusted(const WorkerIdentity& worker,
                              double now_s) const {
  const Record* record = Find(worker);
  return record != nullptr && record->has_answered &&
         (record->num_losses <= 1 || now_s - record->last_loss_s > kMemoryS);
}

const SourceRecords::Record* SourceRecords::Find(
    const WorkerIdentity& worker) const {
  const auto it = records_.find(worker);
  return it == records_.end() ? nullptr : &it->second;
}

const SourceRecords::Record* SourceRecords::FindPaused(
    const WorkerIdentity& worker, double now_s) const {
  const Record* record = Find(worker);
  return TimesOvertaken(worker, now_s) > 0 && record->num_in_row > 0 ? record
                                                                     : nullptr;
}

SourceRecords::Record& SourceRecords::RecordOf(const WorkerIdentity& worker,
                                               double now_s) {
  if (records_.size() >= kMaxSources && records_.count(worker) == 0) {
    records_.erase(std::min_element(
        records_.begin(), records_.end(), [](const auto& a, const auto& b) {
          return std::tuple(a.second.has_answered, a.second.noted_s) <
                 std::tuple(b.second.has_answered, b.second.noted_s);
        }));
  }
  Record& record = records_[worker];
  record.noted_s = now_s;
  return record;
}

}  // namespace tangram
