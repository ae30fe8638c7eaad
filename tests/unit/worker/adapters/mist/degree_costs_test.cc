#include "worker/adapters/mist/degree_costs.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram::mist {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

class DegreeCostsTest : public ::testing::Test {
 protected:
  DegreeCostsTest() {
    island_.device.host = {.bandwidth_bytes_per_s = 10e9, .memory_bytes = 64e9};
  }
  DegreeCosts Costs(bool flash_attention) {
    island_.device.supports_flash_attention = flash_attention;
    return {layers_, island_, options_, offloads_,
            StageParallelism{.dp_degree = 2, .zero_stage = 1}};
  }

  // Embedding, three layers, head.
  const ModelSpec model_ = testing::TestModel(3);
  const ModelSlice slice_ = MakeSlice({0, 5}, model_.layers);
  const SliceLayers layers_{slice_};
  IslandSpec island_ = testing::TestIsland(1, 2);
  const ParallelizeOptions options_ = {.training = testing::TestTraining(),
                                       .pipeline_microbatch_size = 4};
  const std::vector<HostOffload> offloads_ = {
      {}, {.optimizer = 0.5, .activations = 0.25}};
};

TEST_F(DegreeCostsTest, EachTransformerLayerIsAStep) {
  const DegreeCosts costs = Costs(/*flash_attention=*/true);

  EXPECT_EQ(costs.StepsOf(0, 5).num_steps(), 3);
  EXPECT_EQ(costs.StepsOf(0, 2).num_steps(), 1);
  EXPECT_EQ(costs.StepsOf(0, 1).num_steps(), 0);
  EXPECT_EQ(costs.StepsOf(4, 5).num_steps(), 0);
}

// Without flash attention the scores are most of what a layer keeps.
TEST_F(DegreeCostsTest, AttentionCoresComeFirstWhereTheyKeepMuch) {
  const DegreeCosts costs = Costs(/*flash_attention=*/false);
  const OpMask core = MaskOf(model_.layers[1], LayerRecompute::kAttentionCore);
  const OpMask whole = MaskOf(model_.layers[1], LayerRecompute::kWholeLayer);

  EXPECT_EQ(costs.StepsOf(0, 5).num_steps(), 6);
  EXPECT_THAT(
      costs.PlanOf(0, 5, 0, 2).recompute,
      ElementsAre(RecomputeRun{1, kRecomputeNone}, RecomputeRun{2, core},
                  RecomputeRun{2, kRecomputeNone}));
  EXPECT_THAT(
      costs.PlanOf(0, 5, 0, 4).recompute,
      ElementsAre(RecomputeRun{1, kRecomputeNone}, RecomputeRun{1, whole},
                  RecomputeRun{2, core}, RecomputeRun{1, kRecomputeNone}));
}

TEST_F(DegreeCostsTest, CostsAreThoseOfThePlan) {
  for (const bool flash_attention : {false, true}) {
    DegreeCosts costs = Costs(flash_attention);
    const StageEnvironment environment = {.device = island_.device,
                                          .training = options_.training,
                                          .wiring = WiringOf(island_, 2),
                                          .pipeline_microbatch_size = 4};
    for (const int offload : {0, 1}) {
      for (int steps = 0; steps <= costs.StepsOf(0, 4).num_steps(); ++steps) {
        const StageCost cost = costs.CostOf(0, 4, offload, steps);
        const StageCost want = EstimateStage(
            slice_.runs, costs.PlanOf(0, 4, offload, steps), environment);
        EXPECT_THAT(cost.forward_s, DoubleEq(want.forward_s));
        EXPECT_THAT(cost.backward_s, DoubleEq(want.backward_s));
        EXPECT_THAT(cost.sync_s, DoubleEq(want.sync_s));
        EXPECT_THAT(cost.optimizer_s, DoubleEq(want.optimizer_s));
        EXPECT_THAT(cost.memory.PeakBytes(3),
                    DoubleEq(want.memory.PeakBytes(3)));
        EXPECT_THAT(cost.memory.HostBytes(3),
                    DoubleEq(want.memory.HostBytes(3)));
      }
    }
  }
}

}  // namespace
}  // namespace tangram::mist
