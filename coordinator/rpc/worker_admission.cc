#include "coordinator/rpc/worker_admission.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/obs/log.h"

namespace tangram {

WorkerAdmission::Place::~Place() { admission_.End(*this); }

absl::Status WorkerAdmission::Place::Greet(
    absl::Span<const AdapterInfo> adapters) {
  return admission_.Greet(*this, adapters);
}

absl::StatusOr<std::unique_ptr<WorkerAdmission::Place>> WorkerAdmission::Begin(
    const WorkerIdentity& source, std::function<void()> close) {
  const MutexLock lock(mutex_);
  const double now_s = now_s_();
  if (ChurnOf(source, now_s) >= limits_.max_short_streams) {
    return absl::UnavailableError(absl::StrCat(
        "worker source \"", ToString(source), "\": ", limits_.max_short_streams,
        " streams ended within ", limits_.short_s,
        " s each; expected streams that last; dial again later"));
  }
  Source& counts = sources_[source];
  if (limits_.max_streams > 0 && counts.streams >= limits_.max_streams) {
    return absl::ResourceExhaustedError(
        absl::StrCat("worker source \"", ToString(source),
                     "\": ", counts.streams + 1, " streams; expected at most ",
                     limits_.max_streams, " (--max_streams_per_source)"));
  }
  ++counts.streams;
  std::unique_ptr<Place> place(new Place(*this, source));
  place->close_ = std::move(close);
  place->began_s_ = now_s;
  silent_.insert(place.get());
  return place;
}

absl::Status WorkerAdmission::Greet(Place& place,
                                    absl::Span<const AdapterInfo> adapters) {
  const MutexLock lock(mutex_);
  silent_.erase(&place);
  std::map<AdapterId, int>& offered = sources_.at(place.source_).adapters;
  for (const AdapterInfo& adapter : adapters) {
    if (!place.adapters_.insert(adapter.id).second) continue;
    ++offered[adapter.id];
  }
  if (static_cast<int>(offered.size()) <= limits_.max_adapters) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "hello.adapters: the workers of \"", ToString(place.source_), "\" offer ",
      offered.size(), " names and versions; expected at most ",
      limits_.max_adapters));
}

void WorkerAdmission::End(Place& place) {
  const MutexLock lock(mutex_);
  silent_.erase(&place);
  const double now_s = now_s_();
  if (now_s - place.began_s_ < limits_.short_s) NoteShort(place.source_, now_s);
  const auto source = sources_.find(place.source_);
  for (const AdapterId& adapter : place.adapters_) {
    const auto offer = source->second.adapters.find(adapter);
    if (--offer->second == 0) source->second.adapters.erase(offer);
  }
  if (--source->second.streams == 0) sources_.erase(source);
}

double WorkerAdmission::ChurnOf(const WorkerIdentity& source,
                                double now_s) const {
  const auto it = churn_.find(source);
  if (it == churn_.end()) return 0;
  return std::max(it->second.count - (now_s - it->second.at_s), 0.0);
}

void WorkerAdmission::NoteShort(const WorkerIdentity& source, double now_s) {
  if (churn_.size() >= kMaxSources && churn_.count(source) == 0) {
    churn_.erase(std::min_element(churn_.begin(), churn_.end(),
                                  [](const auto& a, const auto& b) {
                                    return a.second.at_s < b.second.at_s;
                                  }));
  }
  churn_[source] = {.count = ChurnOf(source, now_s) + 1, .at_s = now_s};
}

void WorkerAdmission::Tick() {
  const MutexLock lock(mutex_);
  const double now_s = now_s_();
  std::erase_if(silent_, [&](Place* place) {
    if (now_s < place->began_s_ + limits_.hello_s) return false;
    place->close_();
    return true;
  });
}

}  // namespace tangram
