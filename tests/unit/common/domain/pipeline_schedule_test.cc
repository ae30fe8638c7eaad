#include "common/domain/pipeline_schedule.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(PipelineScheduleTest, IsFoundByItsName) {
  for (const PipelineSchedule schedule : kPipelineSchedules) {
    EXPECT_EQ(FindSchedule(ScheduleName(schedule)), schedule);
  }
  EXPECT_EQ(FindSchedule("zb-h1"), PipelineSchedule::kZeroBubbleH1);
  EXPECT_EQ(FindSchedule("1F1B"), std::nullopt);
  EXPECT_EQ(FindSchedule(""), std::nullopt);
}

}  // namespace
}  // namespace tangram
