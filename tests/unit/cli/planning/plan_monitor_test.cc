#include "cli/planning/plan_monitor.h"

#include <sstream>

#include "gmock/gmock.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

TEST(PlanMonitorTest, AddsUpRepeatedPhases) {
  std::ostringstream out;
  ProgressLine line(out, /*enabled=*/false);
  const StopCondition stop(std::nullopt);
  PlanMonitor monitor(line, stop);
  monitor.OnPhase(PlanPhase::kIslands);
  monitor.OnPhase(PlanPhase::kSlicePlans);
  monitor.OnPhase(PlanPhase::kComposition);
  monitor.OnPhase(PlanPhase::kSlicePlans);

  EXPECT_THAT(monitor.Finish(),
              ElementsAre(Field(&PhaseTime::phase, "islands"),
                          Field(&PhaseTime::phase, "slice_plans"),
                          Field(&PhaseTime::phase, "composition")));
}

TEST(PlanMonitorTest, ShowsTheFirstPhaseAtOnce) {
  std::ostringstream out;
  ProgressLine line(out, /*enabled=*/true);
  const StopCondition stop(std::nullopt);
  PlanMonitor monitor(line, stop);
  monitor.OnPhase(PlanPhase::kIslands);

  EXPECT_THAT(out.str(), HasSubstr("islands"));
}

TEST(StopConditionTest, StopsOnlyWhenTimeIsUp) {
  EXPECT_FALSE(StopCondition(std::nullopt).ShouldStop());
  EXPECT_FALSE(StopCondition(3600).ShouldStop());
  EXPECT_TRUE(StopCondition(0).ShouldStop());
  EXPECT_TRUE(StopCondition(0).DeadlinePassed());
}

TEST(StopConditionTest, TakesTimesBeyondTheClock) {
  EXPECT_FALSE(StopCondition(1e300).DeadlinePassed());
}

}  // namespace
}  // namespace tangram
