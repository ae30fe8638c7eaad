#include "common/sim/timeline_recorder.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace tangram {
namespace {

bool StartsBefore(const TimelineEvent& a, const TimelineEvent& b) {
  return a.start_s < b.start_s;
}

}  // namespace

int64_t MaxTimelineEvents(const PipelineShape& shape) {
  // Passes and transfers both ways, then gradient synchronisation and
  // optimizer.
  const int per_microbatch = (shape.splits_backward() ? 3 : 2) + 2;
  return shape.num_stages() *
         (int64_t{per_microbatch} * shape.num_microbatches + 2);
}

TimelineRecorder::TimelineRecorder(const PipelineShape& shape,
                                   std::vector<TimelineEvent>* timeline)
    : timeline_(timeline) {
  if (timeline == nullptr) return;
  const int64_t sends = shape.num_microbatches;
  // Two more: gradient synchronisation and optimizer.
  const int64_t passes = (shape.splits_backward() ? 3 : 2) * sends + 2;
  timeline->clear();
  timeline->resize(MaxTimelineEvents(shape));
  TimelineEvent* next = timeline->data();
  const auto track = [&next](int64_t size) {
    const Track empty = {next, next};
    next += size;
    return empty;
  };
  tracks_.reserve(shape.num_stages());
  for (int s = 0; s < shape.num_stages(); ++s) {
    tracks_.push_back({track(passes), track(sends), track(sends)});
  }
}

TimelineRecorder::Track& TimelineRecorder::TrackOf(const TimelineEvent& event) {
  std::array<Track, 3>& tracks = tracks_[event.stage];
  switch (event.kind) {
    case TimelineEvent::Kind::kSendForward:
      return tracks[1];
    case TimelineEvent::Kind::kSendBackward:
      return tracks[2];
    case TimelineEvent::Kind::kForward:
    case TimelineEvent::Kind::kBackward:
    case TimelineEvent::Kind::kWeightGradient:
    case TimelineEvent::Kind::kGradientSync:
    case TimelineEvent::Kind::kOptimizer:
    case TimelineEvent::Kind::kReplicaSync:
      return tracks[0];
  }
  return tracks[0];
}

void TimelineRecorder::Finish() {
  if (timeline_ == nullptr) return;
  auto out = timeline_->begin();
  std::vector<TimelineEvent> passes;
  std::vector<TimelineEvent> sends;
  for (const auto& [ran, forward, backward] : tracks_) {
    passes.assign(ran.begin, ran.end);
    sends.clear();
    std::merge(forward.begin, forward.end, backward.begin, backward.end,
               std::back_inserter(sends), StartsBefore);
    out = std::merge(sends.begin(), sends.end(), passes.begin(), passes.end(),
                     out, StartsBefore);
  }
  timeline_->erase(out, timeline_->end());
}

}  // namespace tangram
