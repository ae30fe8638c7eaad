#include "worker/adapters/alpa/alpa_sharding_problem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram::alpa {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// 0 -> 1 -> 2, where 2 follows 0.
ShardingProblem Triangle() {
  return {.nodes = {{.costs = {1, 2}, .bytes = {10, 20}},
                    {.costs = {5, 3, 4}, .bytes = {1, 2, 3}},
                    {.costs = {7, 8}, .bytes = {30, 40}, .follows = 0}},
          .edges = {{.from = 0, .to = 1, .costs = {0, 10, 20, 30, 40, 50}},
                    {.from = 1, .to = 2, .costs = {1, 2, 3, 4, 5, 6}},
                    {.from = 0, .to = 2, .costs = {100, 0, 0, 200}}}};
}

TEST(ShardingProblemTest, CostIsThatOfOperatorsAndEdges) {
  // 2 + 4 + 8, edges [1][2] 50, [2][1] 6, [1][1] 200.
  EXPECT_EQ(CostOf(Triangle(), {1, 2, 1}), 270);
}

TEST(ShardingProblemTest, EachLiveSetMustFit) {
  ShardingProblem problem = Triangle();
  problem.live_sets = {{0, 1}, {1, 2}};
  problem.max_live_bytes = 41;

  EXPECT_TRUE(FitsLiveBytes(problem, {1, 0, 1}));   // 21 and 41
  EXPECT_FALSE(FitsLiveBytes(problem, {1, 1, 1}));  // 42
}

TEST(ShardingProblemTest, MergingAddsFollowersToTheirLeader) {
  const MergedProblem merged = Merge(Triangle());

  // Node: 1 + 7 + 100 and 2 + 8 + 200. Edge: [a][b] of 0-1 + [b][a] of 1-2.
  EXPECT_THAT(merged.costs, ElementsAre(ElementsAre(108, 210),
                                        ElementsAre(5, 3, 4), IsEmpty()));
  EXPECT_THAT(
      merged.pair_costs,
      ElementsAre(Pair(std::pair(0, 1), ElementsAre(1, 13, 25, 32, 44, 56))));
}

TEST(ShardingProblemTest, ExpandingGivesFollowersTheirLeadersStrategy) {
  const Sharding sharding = ExpandSharding(Triangle(), {1, 0, 0});

  EXPECT_THAT(sharding.strategies, ElementsAre(1, 0, 1));
  // 2 + 5 + 8, edges [1][0] 30, [0][1] 2, [1][1] 200.
  EXPECT_EQ(sharding.cost, 247);
}

}  // namespace
}  // namespace tangram::alpa
