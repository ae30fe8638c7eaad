#include "coordinator/planners/rivals/sailor/stage_memory.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/planners/rivals/sailor/test_input.h"

namespace tangram::sailor {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(SplitEvenlyTest, GivesTheLastStagesMore) {
  EXPECT_THAT(SplitEvenly(26, 4),
              ElementsAre(Pair(0, 6), Pair(6, 6), Pair(12, 7), Pair(19, 7)));
  EXPECT_THAT(SplitEvenly(4, 2), ElementsAre(Pair(0, 2), Pair(2, 2)));
}

TEST(StageBytesTest, HoldsAMicrobatchForEachStageBehind) {
  Input input = TestInput(4, {4}, 4);
  Profile& profile = input.profiles[{0, 1, 1}];
  const Split split = SplitEvenly(4, 3);  // 1, 1 and 2 layers.
  EXPECT_EQ(StageBytes(profile, split, 0), 1e9 + 3e9);
  EXPECT_EQ(StageBytes(profile, split, 2), 2e9 + 2e9);
  profile.layers[3].transient_bytes = 5e8;
  profile.reserved_bytes = 1e8;
  EXPECT_EQ(StageBytes(profile, split, 2), 2e9 + 2e9 + 5e8 + 1e8);
}

TEST(MemoryShortTest, IsThatOfTheClosestSplit) {
  Input input = TestInput(2, {2, 1}, 4);
  input.types[0].memory_bytes = 2e9;
  input.types[1].memory_bytes = 1e9;
  // One stage needs 4 GB, two need 3 and 2 GB; type 0 comes closest.
  EXPECT_EQ(MemoryShort(input), 1e9);
  input.zones[0].gpus = {1, 0};  // Too few GPUs for two stages.
  EXPECT_EQ(MemoryShort(input), 2e9);
  input.types[0].memory_bytes = 4e9;
  EXPECT_EQ(MemoryShort(input), 0);
}

}  // namespace
}  // namespace tangram::sailor
