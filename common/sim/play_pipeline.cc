#include "common/sim/play_pipeline.h"

#include <algorithm>
#include <cstdint>

#include "common/base/check.h"
#include "common/base/stop_poll.h"
#include "common/sim/pipeline_player.h"
#include "common/sim/steady_pipeline.h"
#include "common/sim/timeline_recorder.h"

namespace tangram {
namespace {

// A clock whose times are seconds.
struct SecondsClock {
  using Time = double;
  using Duration = double;

  static double FromSeconds(double seconds) { return seconds; }
  static double ToSeconds(double time) { return time; }
  static double After(double time, double duration) { return time + duration; }
  static double Later(double a, double b) { return std::max(a, b); }
};

// See PlayPipeline.
bool IsLong(const PipelineShape& shape) {
  return shape.num_microbatches > kMaxPlayedMicrobatches ||
         int64_t{shape.num_microbatches} * shape.num_stages() >
             kMaxPlayedPasses;
}

PipelineRun PlayEveryPass(const PipelineShape& shape,
                          absl::Span<const StageTimes> stages,
                          std::vector<TimelineEvent>* timeline,
                          StopPoll& poll) {
  SecondsClock clock;
  PipelinePlayer<SecondsClock> player(shape, stages, clock, timeline);
  player.PlayUpTo(PassGate(), poll);
  return poll.stopped() ? PipelineRun() : player.Finish();
}

}  // namespace

PipelineRun PlayPipeline(const PipelineShape& shape,
                         absl::Span<const StageTimes> stages,
                         std::vector<TimelineEvent>* timeline, StopPoll& poll) {
  TANGRAM_CHECK(static_cast<int>(stages.size()) == shape.num_stages());
  if (timeline != nullptr && MaxTimelineEvents(shape) > kMaxTimelineEvents) {
    timeline->clear();
    timeline = nullptr;
  }
  if (!IsLong(shape)) return PlayEveryPass(shape, stages, timeline, poll);
  // The figures must be the same with and without a timeline.
  if (timeline != nullptr) PlayEveryPass(shape, stages, timeline, poll);
  return PlaySteadyPipeline(shape, stages, poll);
}

PipelineRun PlayPipeline(const PipelineShape& shape,
                         absl::Span<const StageTimes> stages,
                         std::vector<TimelineEvent>* timeline) {
  StopPoll never;
  return PlayPipeline(shape, stages, timeline, never);
}

}  // namespace tangram
