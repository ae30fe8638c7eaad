#include "worker/adapters/alpa/alpa_sharding_ilp.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/worker/adapters/alpa/random_sharding.h"

namespace tangram::alpa {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

// Three operators, each of which must differ from the two others. With two
// strategies, one edge costs 1. The relaxation costs nothing, with half of each
// strategy.
ShardingProblem OddCycle() {
  ShardingProblem problem;
  for (int i = 0; i < 3; ++i) problem.nodes.push_back({.costs = {0, 0}});
  for (int to = 1; to < 3; ++to) {
    for (int from = 0; from < to; ++from) {
      problem.edges.push_back({.from = from, .to = to, .costs = {1, 0, 0, 1}});
    }
  }
  return problem;
}

TEST(ShardingIlpTest, BranchesWhereTheRelaxationIsNotIntegral) {
  const auto sharding = SolveShardingIlp(OddCycle());

  ASSERT_TRUE(sharding.has_value());
  EXPECT_EQ(sharding->cost, 1);
}

TEST(ShardingIlpTest, KeepsToTheBytes) {
  // The second strategy is slower and leaner. 12 bytes hold one of the first.
  const ShardingProblem problem = {
      .nodes = {{.costs = {1, 4}, .bytes = {8, 4}},
                {.costs = {1, 3}, .bytes = {8, 4}}},
      .live_sets = {{0, 1}},
      .max_live_bytes = 12};

  for (const auto& solve : {SolveShardingIlp, SolveSharding}) {
    const auto sharding = solve(problem);
    ASSERT_TRUE(sharding.has_value());
    EXPECT_THAT(sharding->strategies, ElementsAre(0, 1));
  }
}

TEST(ShardingIlpTest, NothingIsAnAnswer) {
  const ShardingProblem problem = {
      .nodes = {{.costs = {0}}, {.costs = {0}}},
      .edges = {{.from = 0, .to = 1, .costs = {kForbidden}}}};

  EXPECT_THAT(SolveShardingIlp(problem), Eq(std::nullopt));
  EXPECT_THAT(SolveSharding(problem), Eq(std::nullopt));
}

TEST(ShardingIlpTest, FindsWhatExhaustiveSearchFinds) {
  std::mt19937 rng(2);
  int solved = 0;
  int forbidden = 0;
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    ShardingProblem problem = RandomSharding(rng, trial % 6);
    if (trial % 2 == 0) {
      for (int i = 0; i + 1 < problem.num_nodes(); ++i) {
        problem.live_sets.push_back({i, i + 1});
      }
      problem.max_live_bytes = 11;
    }
    const double want = LeastCost(problem);

    for (const auto& solve : {SolveShardingIlp, SolveSharding}) {
      const auto sharding = solve(problem);
      EXPECT_EQ(sharding.has_value(), want < kForbidden);
      if (!sharding.has_value()) continue;
      EXPECT_EQ(sharding->cost, want);
      EXPECT_TRUE(FitsLiveBytes(problem, sharding->strategies));
    }
    (want == kForbidden ? forbidden : solved) += 1;
  }
  EXPECT_GT(solved, 100);
  EXPECT_GT(forbidden, 10);
}

}  // namespace
}  // namespace tangram::alpa
