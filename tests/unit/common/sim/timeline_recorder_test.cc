#include "common/sim/timeline_recorder.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using Kind = TimelineEvent::Kind;

TEST(TimelineRecorderTest, OrdersEventsByStageThenStart) {
  // Existing events are dropped.
  std::vector<TimelineEvent> timeline = {{.microbatch = 7}};
  TimelineRecorder recorder({.schedule = PipelineSchedule::kZeroBubbleH1,
                             .num_devices = 2,
                             .num_microbatches = 2},
                            &timeline);
  recorder.Record({Kind::kForward, 1, 0, 0, 0, 1});
  recorder.Record({Kind::kBackward, 0, 1, 0, 4, 5});
  recorder.Record({Kind::kSendForward, 0, 2, 0, 1, 2});
  recorder.Record({Kind::kSendBackward, 0, 3, 0, 5, 6});
  recorder.Record({Kind::kWeightGradient, 0, 4, 0, 5.5, 6});
  recorder.Record({Kind::kSendForward, 0, 5, 0, 5.25, 6});
  recorder.Finish();

  const auto microbatch = [](int m) {
    return Field(&TimelineEvent::microbatch, m);
  };
  EXPECT_THAT(timeline,
              ElementsAre(microbatch(2), microbatch(1), microbatch(3),
                          microbatch(5), microbatch(4), microbatch(0)));
}

TEST(TimelineRecorderTest, IsOffWithoutATimeline) {
  TimelineRecorder recorder({}, nullptr);
  EXPECT_FALSE(recorder.enabled());
  recorder.Finish();
}

}  // namespace
}  // namespace tangram
