#include "coordinator/planners/frontier/staircase.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::Eq;
using ::testing::Optional;
using ::testing::SizeIs;

TEST(StaircasesAroundTest, FindsStepsAndIdleNodes) {
  // One node more of the first group brings nothing and two bring 30. The last
  // node of the second group brings nothing.
  const std::vector<Allocation> allocations = {{1, 0}, {1, 1}, {1, 2},
                                               {2, 2}, {3, 2}, {4, 1}};
  const std::vector<double> worths = {50, 100, 100, 100, 130, 500};
  const std::vector<Staircase> staircases =
      StaircasesAround({1, 2}, allocations, worths);
  ASSERT_THAT(staircases, SizeIs(2));
  ASSERT_THAT(staircases[0].stairs, SizeIs(3));
  EXPECT_EQ(staircases[0].stairs[0].marginal, std::nullopt);
  EXPECT_THAT(staircases[0].stairs[2].marginal, Optional(15.0));
  EXPECT_THAT(staircases[0].best_to_buy, Optional(3));
  EXPECT_EQ(staircases[0].idle_nodes, 0);
  ASSERT_THAT(staircases[1].stairs, SizeIs(3));
  EXPECT_THAT(staircases[1].stairs[0].marginal, Optional(25.0));
  EXPECT_EQ(staircases[1].idle_nodes, 1);
  EXPECT_EQ(staircases[1].best_to_buy, std::nullopt);
}

}  // namespace
}  // namespace tangram
