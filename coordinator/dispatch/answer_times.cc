#include "coordinator/dispatch/answer_times.h"

#include <algorithm>
#include <vector>

namespace tangram {
namespace {

// The longest time fades by this with each answer: e⁻¹ after 32.
constexpr double kFade = 1 - 1.0 / 32;
// Fewer answers tell nothing about the time of the next task.
constexpr int kFewAnswers = 4;

}  // namespace

void Took::Note(double took_s) {
  ++count;
  longest_s = std::max(took_s, longest_s * kFade);
}

bool Took::IsTelling() const { return count >= kFewAnswers; }

void AnswerTimes::Note(const AdapterId& adapter, const WorkerIdentity& worker,
                       double took_s, double now_s) {
  const std::pair key(adapter, worker);
  if (records_.size() >= kMaxSources && records_.count(key) == 0) {
    records_.erase(std::min_element(
        records_.begin(), records_.end(), [](const auto& a, const auto& b) {
          return a.second.noted_s < b.second.noted_s;
        }));
  }
  Record& record = records_[key];
  record.took.Note(took_s);
  record.noted_s = now_s;
}

Took AnswerTimes::Of(const AdapterId& adapter,
                     const WorkerIdentity& worker) const {
  const auto it = records_.find({adapter, worker});
  return it == records_.end() ? Took() : it->second.took;
}

std::optional<double> AnswerTimes::Usual(const AdapterId& adapter) const {
  std::vector<double> longest_s;
  for (auto it = records_.lower_bound({adapter, WorkerIdentity()});
       it != records_.end() && it->first.first == adapter; ++it) {
    const Took& took = it->second.took;
    if (took.IsTelling()) longest_s.push_back(took.longest_s);
  }
  if (longest_s.empty()) return std::nullopt;
  const auto middle = longest_s.begin() + (longest_s.size() - 1) / 2;
  std::nth_element(longest_s.begin(), middle, longest_s.end());
  return *middle;
}

}  // namespace tangram
