#include "common/sim/delayed_program.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(DelayedProgramTest, PlacesThatOnlyMoveUpBecomeADelay) {
  // x0 = max(x0, x1) + 5, where x1 is the first of three places: x1 = x2, x2 =
  // x3, x3 = x0.
  const DelayedProgram delayed =
      WithDelays({.steps = {{0, 1, 5}}, .outputs = {4, 2, 3, 4}});
  EXPECT_THAT(delayed.queues,
              ElementsAre(ElementsAre(0), ElementsAre(1, 2, 3)));
  EXPECT_EQ(delayed.delay(1), 3);
  EXPECT_THAT(delayed.steps, ElementsAre(MaxPlusStep{0, 1, 5}));
  EXPECT_THAT(delayed.outputs, ElementsAre(2, 2));
}

TEST(DelayedProgramTest, APlaceThatAStepReadsStaysAnInput) {
  const DelayedProgram delayed =
      WithDelays({.steps = {{0, 2, 5}}, .outputs = {1, 2, 3}});
  EXPECT_THAT(delayed.queues, ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_THAT(delayed.outputs, ElementsAre(1, 2));
}

TEST(DelayedProgramTest, ARingOfPlacesReadsItself) {
  const DelayedProgram delayed = WithDelays({.outputs = {1, 0, 2}});
  EXPECT_THAT(delayed.queues, ElementsAre(ElementsAre(2), ElementsAre(0, 1)));
  EXPECT_THAT(delayed.outputs, ElementsAre(0, 1));
}

}  // namespace
}  // namespace tangram
