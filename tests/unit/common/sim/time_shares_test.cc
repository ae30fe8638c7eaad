#include "common/sim/time_shares.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/plan_builders.h"

namespace tangram {
namespace {

// An iteration of 10 s. One GPU is busy for 8 s, three GPUs for 4 s.
const PipelinePlan kPlan = {
    .stages = {testing::StageOn(0, 1, {}, testing::NodeGpus(0, 1)),
               testing::StageOn(1, 2, {}, testing::NodeGpus(1, 3))}};
const Evaluation kEvaluation = {
    .iteration_time_s = 10,
    .stages = {{.forward_s = 1,
                .backward_s = 3,
                .recompute_s = 1,
                .collective_s = 0.5,
                .copy_s = 0.25,
                .sync_s = 1,
                .optimizer_s = 0.5,
                .busy_s = 8,
                .idle_s = 0.5},
               {.forward_s = 1, .backward_s = 1, .busy_s = 4, .idle_s = 6}}};

TEST(TimeSharesTest, WeighsStagesByTheirGpus) {
  const std::vector<TimeShare> shares = TimeShares(kPlan, kEvaluation);
  // The total is 40 GPU-seconds. Collectives take 8 · 0.5 / 4 = 1, copies half
  // of that.
  ASSERT_EQ(shares.size(), 6);
  EXPECT_EQ(shares[0].name, "computation");
  EXPECT_DOUBLE_EQ(shares[0].fraction, (8. - 1 - 0.5 + 3 * 4) / 40);
  EXPECT_DOUBLE_EQ(shares[1].fraction, 1. / 40);
  EXPECT_DOUBLE_EQ(shares[2].fraction, 0.5 / 40);
  EXPECT_DOUBLE_EQ(shares[3].fraction, (0.5 + 3 * 6) / 40);
  EXPECT_DOUBLE_EQ(shares[4].fraction, 1. / 40);
  EXPECT_DOUBLE_EQ(shares[5].fraction, 0.5 / 40);
}

TEST(TimeSharesTest, AddUpToOne) {
  double sum = 0;
  for (const TimeShare& share : TimeShares(kPlan, kEvaluation)) {
    sum += share.fraction;
  }
  EXPECT_DOUBLE_EQ(sum, 1);
}

TEST(TimeSharesTest, CountGpusThatRunSeveralChunksOnce) {
  // Both chunks on the same GPU: 3 + 5 of 10 s busy, 2 idle.
  const PipelinePlan plan = {.schedule = PipelineSchedule::kInterleaved,
                             .virtual_stages = 2,
                             .stages = {kPlan.stages[0], kPlan.stages[0]}};
  const Evaluation evaluation = {
      .iteration_time_s = 10,
      .stages = {{.forward_s = 1, .backward_s = 2, .busy_s = 3, .idle_s = 2},
                 {.forward_s = 2,
                  .backward_s = 3,
                  .recompute_s = 1,
                  .busy_s = 5,
                  .idle_s = 2}}};
  const std::vector<TimeShare> shares = TimeShares(plan, evaluation);
  EXPECT_DOUBLE_EQ(shares[0].fraction, 0.8);
  EXPECT_DOUBLE_EQ(shares[3].fraction, 0.2);
  EXPECT_DOUBLE_EQ(RecomputationShare(plan, evaluation), 0.1);
}

TEST(RecomputationShareTest, IsItsPartOfThePasses) {
  // 8 · 1 / 4 of 40 GPU-seconds.
  EXPECT_DOUBLE_EQ(RecomputationShare(kPlan, kEvaluation), 2. / 40);
}

}  // namespace
}  // namespace tangram
