#include "common/sim/play_pipeline.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/sim/pipeline_player.h"
#include "common/sim/steady_pipeline.h"
#include "common/sim/timeline_recorder.h"

namespace tangram {
namespace {

// A clock whose times are seconds.
struct SecondsClock {
  using Time = double;

  static double FromSeconds(double seconds) { return seconds; }
  static double ToSeconds(double time) { return time; }
  static double Later(double a, double b) { return std::max(a, b); }
};

PipelineRun PlayEveryPass(const PipelineShape& shape,
                          absl::Span<const StageTimes> stages,
                          std::vector<TimelineEvent>* timeline) {
  SecondsClock clock;
  PipelinePlayer<SecondsClock> player(shape, stages, clock, timeline);
  player.PlayUpTo(PassGate());
  return player.Finish();
}

}  // namespace

PipelineRun PlayPipeline(const PipelineShape& shape,
                         absl::Span<const StageTimes> stages,
                         std::vector<TimelineEvent>* timeline) {
  TANGRAM_CHECK(static_cast<int>(stages.size()) == shape.num_stages());
  if (timeline != nullptr && MaxTimelineEvents(shape) > kMaxTimelineEvents) {
    timeline->clear();
    timeline = nullptr;
  }
  const bool is_long = shape.num_microbatches > kMaxPlayedMicrobatches;
  if (!is_long) return PlayEveryPass(shape, stages, timeline);
  // The figures must be the same with and without a timeline.
  if (timeline != nullptr) PlayEveryPass(shape, stages, timeline);
  return PlaySteadyPipeline(shape, stages);
}

}  // namespace tangram
