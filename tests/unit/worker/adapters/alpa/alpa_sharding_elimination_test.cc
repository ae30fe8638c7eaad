#include "worker/adapters/alpa/alpa_sharding_elimination.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/worker/adapters/alpa/random_sharding.h"

namespace tangram::alpa {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

TEST(ShardingEliminationTest, SolvesAChain) {
  // The cheap ends cost 9 to join. (0, 1, 1) costs 1 + 2 + 3 + 1.
  const auto sharding = EliminateSharding(
      {.nodes = {{.costs = {1, 5}}, {.costs = {4, 2}}, {.costs = {0, 3}}},
       .edges = {{.from = 0, .to = 1, .costs = {9, 1, 0, 9}},
                 {.from = 1, .to = 2, .costs = {0, 0, 9, 0}}}});

  ASSERT_TRUE(sharding.has_value());
  EXPECT_THAT(sharding->strategies, ElementsAre(0, 1, 1));
  EXPECT_EQ(sharding->cost, 7);
}

TEST(ShardingEliminationTest, LeavesFourThatAreAllJoined) {
  ShardingProblem problem;
  for (int i = 0; i < 4; ++i) {
    problem.nodes.push_back({.costs = {0, 1}});
    for (int j = 0; j < i; ++j) {
      problem.edges.push_back({.from = j, .to = i, .costs = {1, 0, 0, 1}});
    }
  }

  EXPECT_THAT(EliminateSharding(problem), Eq(std::nullopt));
}

TEST(ShardingEliminationTest, FindsWhatExhaustiveSearchFinds) {
  std::mt19937 rng(1);
  int solved = 0;
  int forbidden = 0;
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    const ShardingProblem problem = RandomSharding(rng, trial % 4);
    const double want = LeastCost(problem);

    const auto sharding = EliminateSharding(problem);

    if (!sharding.has_value()) continue;
    EXPECT_EQ(sharding->cost, want);
    (want == kForbidden ? forbidden : solved) += 1;
  }
  EXPECT_GT(solved, 200);
  EXPECT_GT(forbidden, 10);
}

}  // namespace
}  // namespace tangram::alpa
