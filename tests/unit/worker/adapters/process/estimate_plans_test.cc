#include "worker/adapters/process/estimate_plans.h"

#include "common/cost/collectives.h"
#include "common/cost/stage_cost.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using testing::TestIsland;
using testing::TestModel;
using testing::TestTraining;

constexpr int kLayers = 6;  // Embedding, 4 transformer layers, head.

ParallelizeOptions Options(int trailing_stages = 0) {
  return {.training = TestTraining(32),
          .pipeline_microbatch_size = 4,
          .trailing_stages = trailing_stages};
}

ModelSlice WholeModel() { return MakeSlice({0, kLayers}, TestModel(4).layers); }

SliceStage StageOf(int begin, int end, int dp) {
  return {.plan = {.begin = {begin, 0},
                   .end = {end, 0},
                   .parallelism = {.dp_degree = dp},
                   .recompute = {{.num_layers = end - begin}}}};
}

SlicePlan OneStage(int dp) { return {.stages = {StageOf(0, kLayers, dp)}}; }
SlicePlan TwoStages() {
  return {.stages = {StageOf(0, 3, 2), StageOf(3, kLayers, 2)}};
}

TEST(EstimatePlansTest, TimesAreThoseOfTheCostModel) {
  const ModelSlice slice = WholeModel();
  const IslandSpec island = TestIsland(1, 4);
  SlicePlanSet answer{.plans = {TwoStages()}};

  EstimatePlans(slice, island, Options(), answer);

  ASSERT_EQ(answer.plans.size(), 1);
  const SliceStage& first = answer.plans[0].stages[0];
  const ParallelizeOptions options = Options();
  const StageCost cost = EstimateStage(slice.runs, first.plan,
                                       {.device = island.device,
                                        .training = options.training,
                                        .wiring = WiringOf(island, 2),
                                        .pipeline_microbatch_size = 4});
  const double transfer_s = TransferSeconds(
      BoundaryBytes(slice.runs[1].layer, 0, 4, options.training),
      PathWithin(island, 0, 2, 2, 2));
  EXPECT_DOUBLE_EQ(first.time_s,
                   cost.forward_s + cost.backward_s + 2 * transfer_s);
  EXPECT_DOUBLE_EQ(first.backward_s, cost.backward_s);
  EXPECT_DOUBLE_EQ(first.sync_s, cost.sync_s + cost.optimizer_s);
}

TEST(EstimatePlansTest, WhatIsNoBetterInAnyRespectIsDropped) {
  SlicePlanSet answer{.plans = {OneStage(1), OneStage(4), OneStage(4)}};

  EstimatePlans(WholeModel(), TestIsland(1, 4), Options(), answer);

  // One GPU alone has less to reduce at the end, but takes four times as long.
  for (const SlicePlan& plan : answer.plans) {
    EXPECT_GE(plan.max_trailing_stages, 0);
  }
  EXPECT_EQ(answer.plans.size(), 2);
}

TEST(EstimatePlansTest, WhatDoesNotFitIsDroppedWithTheReason) {
  IslandSpec island = TestIsland(1, 4);
  island.device.memory_bytes = 1e6;
  SlicePlanSet answer{.plans = {OneStage(4), TwoStages()}};

  EstimatePlans(WholeModel(), island, Options(), answer);

  EXPECT_TRUE(answer.plans.empty());
  ASSERT_TRUE(answer.infeasible.has_value());
  EXPECT_EQ(answer.infeasible->reason, "does not fit in memory");
  EXPECT_GT(answer.infeasible->bytes_short, 0);
}

// Room for the microbatches of 2 stages behind the plan with dp 4.
IslandSpec TightIsland() {
  IslandSpec island = TestIsland(1, 4);
  const StageCost cost =
      EstimateStage(WholeModel().runs, OneStage(4).stages[0].plan,
                    {.device = island.device,
                     .training = Options().training,
                     .wiring = WiringOf(island, 4),
                     .pipeline_microbatch_size = 4});
  island.device.memory_bytes = cost.memory.PeakBytes(3) + 1;
  return island;
}

TEST(EstimatePlansTest, TrailingStagesAreWhatMemoryBears) {
  const IslandSpec ample = TestIsland(1, 4);
  SlicePlanSet answer{.plans = {OneStage(4)}};
  EstimatePlans(WholeModel(), ample, Options(), answer);
  ASSERT_EQ(answer.plans.size(), 1);
  // 32 / 4 = 8 microbatches fit all at once.
  EXPECT_EQ(answer.plans[0].max_trailing_stages, kUnlimitedTrailingStages);

  for (const int trailing_stages : {2, 3}) {
    answer = {.plans = {OneStage(4)}};
    EstimatePlans(WholeModel(), TightIsland(), Options(trailing_stages),
                  answer);
    EXPECT_EQ(answer.plans.empty(), trailing_stages == 3);
  }
}

// With sharded optimizer state, the step takes less time.
TEST(EstimatePlansTest, APlanOutsideTheLimitsDropsNoOther) {
  SlicePlan sharded = OneStage(4);
  sharded.stages[0].plan.parallelism.zero_stage = 1;
  const auto kept_zero_stage = [&](const StageLimits& limits) {
    IslandSpec island = TestIsland(1, 4);
    island.limits = limits;
    SlicePlanSet answer{.plans = {sharded, OneStage(4)}};
    EstimatePlans(WholeModel(), island, Options(), answer);
    EXPECT_EQ(answer.plans.size(), 1);
    return answer.plans[0].stages[0].plan.parallelism.zero_stage;
  };
  EXPECT_EQ(kept_zero_stage({}), 1);
  EXPECT_EQ(kept_zero_stage({.max_zero_stage = 0}), 0);
}

// With more trailing stages, the program may propose another plan instead of
// the one that no longer fits.
TEST(EstimatePlansTest, APlanOutsideTheLimitsSaysWhereToAskAgain) {
  IslandSpec island = TightIsland();
  island.limits.dp_degree = 2;
  SlicePlanSet answer{.plans = {OneStage(4)}};
  EstimatePlans(WholeModel(), island, Options(), answer);
  EXPECT_TRUE(answer.plans.empty());
  EXPECT_EQ(answer.covers_trailing_stages, 2);
  EXPECT_EQ(answer.infeasible->reason,
            "no stage can have the degrees that are asked for");
}

TEST(EstimatePlansTest, TheShortageIsThatOfAPlanWithinTheLimits) {
  IslandSpec island = TightIsland();
  island.limits.dp_degree = 4;
  SlicePlanSet answer{.plans = {OneStage(1), OneStage(4)}};
  EstimatePlans(WholeModel(), island, Options(/*trailing_stages=*/3), answer);
  SlicePlanSet within{.plans = {OneStage(4)}};
  EstimatePlans(WholeModel(), island, Options(/*trailing_stages=*/3), within);
  EXPECT_EQ(answer.infeasible, within.infeasible);
  EXPECT_EQ(answer.infeasible->reason, "does not fit in memory");
}

TEST(EstimatePlansTest, WhatIsOffloadedMustFitTheHost) {
  SlicePlan plan = OneStage(4);
  plan.stages[0].plan.offload.optimizer = 1;
  IslandSpec island = TestIsland(1, 4);
  for (const double memory_bytes : {1e12, 1e3}) {
    island.device.host = {.bandwidth_bytes_per_s = 1e10,
                          .memory_bytes = memory_bytes};
    SlicePlanSet answer{.plans = {plan}};
    EstimatePlans(WholeModel(), island, Options(), answer);
    EXPECT_EQ(answer.plans.size(), memory_bytes > 1e6 ? 1 : 0);
  }
}

TEST(EstimatePlansTest, ARefusalStays) {
  SlicePlanSet answer{.infeasible = Infeasible{.reason = "not today"}};
  EstimatePlans(WholeModel(), TestIsland(1, 4), Options(), answer);
  EXPECT_EQ(answer.infeasible->reason, "not today");
}

}  // namespace
}  // namespace tangram
