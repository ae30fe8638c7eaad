#include "common/parallelizer/trailing_stages.h"

#include "common/domain/slice_plan.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

// 10 bytes of state, 1 of workspace, 2 for each microbatch in flight.
constexpr StageMemory kMemory = {
    .static_bytes = 10, .activation_bytes = 2, .transient_bytes = 1};

TEST(TrailingStagesBorneTest, CountsTheMicrobatchesThatFit) {
  // (20 - 11) / 2 = 4 in flight: one for the stage itself, one for the stage
  // after it in the slice, and two more.
  EXPECT_EQ(TrailingStagesBorne(kMemory, 20, 1, 8), 2);
  EXPECT_EQ(TrailingStagesBorne(kMemory, 20, 3, 8), 0);
  EXPECT_LT(TrailingStagesBorne(kMemory, 20, 4, 8), 0);
}

TEST(TrailingStagesBorneTest, IsUnlimitedWhenAllMicrobatchesFit) {
  EXPECT_EQ(TrailingStagesBorne(kMemory, 20, 9, 4), kUnlimitedTrailingStages);
}

TEST(TrailingStagesBorneTest, NothingFitsWithoutRoomForTheState) {
  EXPECT_LT(TrailingStagesBorne(kMemory, 9, 0, 8), 0);
}

}  // namespace
}  // namespace tangram
