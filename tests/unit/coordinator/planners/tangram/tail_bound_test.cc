#include "coordinator/planners/tangram/tail_bound.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/one_f_one_b.h"

namespace tangram {
namespace {

using testing::RunOneFOneB;

TailBound TailBoundOf(const std::vector<StageTimes>& stages,
                      int num_microbatches) {
  TailBound bound;
  for (size_t s = stages.size(); s-- > 0;) {
    bound = PrependStage(stages[s], bound, num_microbatches);
  }
  return bound;
}

// Random stages, half of the pipelines with slow transfers.
std::vector<StageTimes> RandomStages(std::mt19937& rng) {
  std::uniform_real_distribution<double> seconds(0.1, 2);
  const double transfers = rng() % 2 == 0 ? 0.1 : 2;
  std::vector<StageTimes> stages;
  const int num_stages = 1 + static_cast<int>(rng() % 6);
  for (int s = 0; s < num_stages; ++s) {
    StageTimes& stage = stages.emplace_back();
    stage.forward_s = seconds(rng);
    stage.backward_s = seconds(rng) * (1 + static_cast<int>(rng() % 3));
    if (s + 1 < num_stages) {
      stage.send_forward_s = transfers * seconds(rng);
      stage.send_backward_s = transfers * seconds(rng);
    }
    if (rng() % 2 == 0) stage.sync_s = 3 * seconds(rng);
    stage.optimizer_s = 0.1 * seconds(rng);
  }
  return stages;
}

TEST(TailBoundTest, IsAtMostTheSimulatedTime) {
  int num_equal = 0;
  for (uint32_t seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::vector<StageTimes> stages = RandomStages(rng);
    const int num_microbatches = 1 + static_cast<int>(rng() % 20);
    const double bound_s = TailBoundOf(stages, num_microbatches).iteration_s;
    const double played_s =
        RunOneFOneB(stages, num_microbatches).iteration_time_s;
    EXPECT_LE(bound_s, played_s * (1 + 1e-9));
    num_equal += bound_s >= played_s * (1 - 1e-9) ? 1 : 0;
    // Transfers that block are never faster.
    for (StageTimes& stage : stages) stage.send_blocks = true;
    EXPECT_LE(bound_s, RunOneFOneB(stages, num_microbatches).iteration_time_s *
                           (1 + 1e-9));
  }
  EXPECT_GT(num_equal, 1000);
}

TEST(TailBoundTest, EqualsTheSimulatedTimeOfEqualStages) {
  for (const int num_microbatches : {1, 3, 4, 16}) {
    const std::vector<StageTimes> stages(4, {.forward_s = 1, .backward_s = 2});
    EXPECT_DOUBLE_EQ(TailBoundOf(stages, num_microbatches).iteration_s,
                     RunOneFOneB(stages, num_microbatches).iteration_time_s);
  }
}

TEST(TailBoundTest, ALinkThatCarriesAllMicrobatchesBoundsTheTime) {
  const std::vector<StageTimes> stages = {
      {.forward_s = 1, .backward_s = 1, .send_forward_s = 10},
      {.forward_s = 1, .backward_s = 1}};
  // A round trip of 14 s, and nine more transfers of 10 s.
  EXPECT_DOUBLE_EQ(TailBoundOf(stages, 10).iteration_s, 14 + 9 * 10);
  EXPECT_DOUBLE_EQ(RunOneFOneB(stages, 10).iteration_time_s, 14 + 9 * 10);
}

// Returns bounds that are up to a tenth less, each by a share of its own.
TailBound LessThan(TailBound bound, std::mt19937& rng) {
  std::uniform_real_distribution<double> share(0.9, 1);
  bound.round_trip_s *= share(rng);
  bound.passes_s *= share(rng);
  bound.iteration_s *= share(rng);
  for (double& window_s : bound.windows_s) window_s *= share(rng);
  return bound;
}

TEST(TailBoundTest, LesserBoundsStayLesserWithTheSameStagesInFront) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const int num_microbatches = 1 + static_cast<int>(rng() % 20);
    TailBound greater = TailBoundOf(RandomStages(rng), num_microbatches);
    TailBound lesser = LessThan(greater, rng);
    ASSERT_TRUE(IsNoGreater(lesser, greater));
    EXPECT_FALSE(IsNoGreater(greater, lesser));
    for (const StageTimes& stage : RandomStages(rng)) {
      lesser = PrependStage(stage, lesser, num_microbatches);
      greater = PrependStage(stage, greater, num_microbatches);
      ASSERT_TRUE(IsNoGreater(lesser, greater));
    }
  }
}

}  // namespace
}  // namespace tangram
