#ifndef TANGRAM_COMMON_SIM_TIMELINE_RECORDER_H_
#define TANGRAM_COMMON_SIM_TIMELINE_RECORDER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "common/sim/evaluate_plan.h"
#include "common/sim/pass_sequence.h"

namespace tangram {

// Returns an upper bound of the number of events of a pipeline.
int64_t MaxTimelineEvents(const PipelineShape& shape);

// Collects the events of a played pipeline and orders them. Sorting all events
// would take longer than playing. But the passes of a stage, and its transfers
// in each direction, are played in order of time, and their number has an upper
// bound. So each of these tracks has a fixed place in the timeline.
class TimelineRecorder {
 public:
  // Records nothing if `timeline` is null.
  TimelineRecorder(const PipelineShape& shape,
                   std::vector<TimelineEvent>* timeline);

  bool enabled() const { return timeline_ != nullptr; }
  // Adds an event. The recorder must be enabled.
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
