#ifndef TANGRAM_COMMON_SIM_TIMELINE_RECORDER_H_
#define TANGRAM_COMMON_SIM_TIMELINE_RECORDER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "common/sim/evaluate_plan.h"
#include "common/sim/pass_sequence.h"

namespace tangram {

// The events that a pipeline has at most.
int64_t MaxTimelineEvents(const PipelineShape& shape);

// Collects the events of a played pipeline and puts them in order. Sorting all
// would take longer than playing; but the passes of a stage, and its transfers
// in each direction, happen in the order in which they are played, and there
// is an upper bound on their number. So each of these tracks has its place in
// the timeline from the start.
class TimelineRecorder {
 public:
  // `timeline` may be null: nothing is recorded.
  TimelineRecorder(const PipelineShape& shape,
                   std::vector<TimelineEvent>* timeline);

  bool enabled() const { return timeline_ != nullptr; }
  // If enabled.
  void Record(const TimelineEvent& event) { *TrackOf(event).end++ = event; }

  // Leaves the events in the timeline, in order of stage, then start.
  void Finish();

 private:
  struct Track {
    TimelineEvent* begin = nullptr;
    TimelineEvent* end = nullptr;
  };

  Track& TrackOf(const TimelineEvent& event);

  // Per stage: passes, transfers forward and backward.
  std::vector<std::array<Track, 3>> tracks_;
  std::vector<TimelineEvent>* const timeline_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_TIMELINE_RECORDER_H_
