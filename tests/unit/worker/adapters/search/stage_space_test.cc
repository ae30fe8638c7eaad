#include "worker/adapters/search/stage_space.h"

#include <initializer_list>
#include <random>
#include <vector>

#include "common/domain/model_slice.h"
#include "common/domain/stage_rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestMoeModel;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsSupersetOf;
using ::testing::Not;

TrainingOptions TrainingWith(int sequence_length) {
  return {.sequence_length = sequence_length};
}

SplitLimits DenseLimits(int pipeline_microbatch_size) {
  return SplitLimits(TestModel(1).layers, pipeline_microbatch_size,
                     TrainingWith(512));
}

IslandSpec WithTp(IslandSpec island, int tp_degree) {
  island.limits.tp_degree = tp_degree;
  return island;
}

EqualStages Layout(int num_stages, int gpus_per_stage) {
  return {.num_stages = num_stages, .gpus_per_stage = gpus_per_stage};
}

auto Tp(int tp) { return Field("tp", &StageParallelism::tp_degree, tp); }
auto Cp(int cp) { return Field("cp", &StageParallelism::cp_degree, cp); }
auto Dp(int dp) { return Field("dp", &StageParallelism::dp_degree, dp); }
auto Ep(int ep) { return Field("ep", &StageParallelism::ep_degree, ep); }

TEST(SplitLimitsTest, TpDividesTheHeads) {
  LayerSpec layer = TestModel(1).layers[1];
  layer.num_heads = 24;
  layer.num_kv_heads = 3;
  const SplitLimits limits({layer}, 1, TrainingWith(512));

  EXPECT_TRUE(limits.AllowsTp(1));
  EXPECT_FALSE(limits.AllowsTp(2));   // Neither 3 | 2 nor 2 | 3.
  EXPECT_FALSE(limits.AllowsTp(16));  // 24 heads.
  EXPECT_TRUE(limits.AllowsTp(3));
  EXPECT_TRUE(limits.AllowsTp(6));  // Two ranks hold each key head.
}

TEST(SplitLimitsTest, ExpertsAreThoseThatAllLayersCanSplit) {
  LayerSpec few = TestMoeModel(1).layers[1];
  LayerSpec many = few;
  few.num_experts = 12;
  many.num_experts = 32;
  const LayerSpec dense = TestModel(1).layers[1];

  EXPECT_EQ(SplitLimits({few, dense, many}, 1, TrainingWith(512)).num_experts(),
            4);
  EXPECT_EQ(SplitLimits({dense}, 1, TrainingWith(512)).num_experts(), 0);
}

TEST(StageSizesTest, DivideANodeOrTakeWholeNodes) {
  // tp up to 4, dp 1, 2 or 4: products 1 to 16, those above 4 in whole nodes.
  EXPECT_THAT(StageSizes(TestIsland(3, 4), DenseLimits(4), {.ep = true}),
              ElementsAre(1, 2, 4, 8));
  // dp 3 makes 3 (no divisor of 4), 6, and 12.
  EXPECT_THAT(StageSizes(TestIsland(3, 4), DenseLimits(6), {.ep = true}),
              ElementsAre(1, 2, 4, 8, 12));
}

TEST(StageSizesTest, NodesNeedNotBePowersOfTwo) {
  // tp 1 and 2 divide 6. dp 1 and 3: sizes 1, 3, 2, 6.
  EXPECT_THAT(StageSizes(TestIsland(1, 6), DenseLimits(3), {.ep = true}),
              ElementsAre(1, 2, 3, 6));
}

TEST(StageSizesTest, AreAllThatFitNodesAndHaveDegrees) {
  for (const int microbatch : {1, 6, 15, 16, 45}) {
    for (const int per_node : {1, 3, 4, 6, 8}) {
      const IslandSpec island = TestIsland(12, per_node);
      const SplitLimits limits = DenseLimits(microbatch);
      std::vector<int> expected;
      for (int size = 1; size <= island.num_gpus(); ++size) {
        const bool fits_nodes =
            size < per_node ? per_node % size == 0 : size % per_node == 0;
        if (fits_nodes &&
            !ParallelismsOf(size, island, limits, {.ep = true}).empty()) {
          expected.push_back(size);
        }
      }
      EXPECT_EQ(StageSizes(island, limits, {.ep = true}), expected)
          << microbatch << " " << per_node;
    }
  }
}

TEST(LayoutsOfTest, UseAllGpus) {
  EXPECT_THAT(
      LayoutsOf(TestIsland(2, 4), 10, {1, 2, 4, 8}),
      ElementsAre(Layout(1, 8), Layout(2, 4), Layout(4, 2), Layout(8, 1)));
}

TEST(LayoutsOfTest, HaveNoMoreStagesThanLayers) {
  EXPECT_THAT(LayoutsOf(TestIsland(2, 4), 3, {1, 2, 4, 8}),
              ElementsAre(Layout(1, 8), Layout(2, 4)));
}

TEST(LayoutsOfTest, LeaveGpusOutOnlyWhereNoLayoutUsesAll) {
  // Stages of at most 4 GPUs and two layers: at most 8 of 16 GPUs.
  EXPECT_THAT(LayoutsOf(TestIsland(4, 4), 2, {1, 2, 4}),
              ElementsAre(Layout(1, 4), Layout(2, 4)));
  EXPECT_THAT(LayoutsOf(TestIsland(4, 4), 4, {1, 2, 4}),
              ElementsAre(Layout(4, 4)));
}

TEST(ParallelismsOfTest, DegreesMakeUpTheStage) {
  EXPECT_THAT(ParallelismsOf(8, TestIsland(2, 4), DenseLimits(8), {.ep = true}),
              ElementsAre(AllOf(Tp(1), Dp(8)), AllOf(Tp(2), Dp(4)),
                          AllOf(Tp(4), Dp(2))));
}

TEST(ParallelismsOfTest, DpDividesTheMicrobatch) {
  EXPECT_THAT(ParallelismsOf(4, TestIsland(2, 4), DenseLimits(2), {.ep = true}),
              ElementsAre(AllOf(Tp(2), Dp(2)), AllOf(Tp(4), Dp(1))));
}

TEST(ParallelismsOfTest, SequenceIsSplitWithTp) {
  const auto all =
      ParallelismsOf(4, TestIsland(1, 4), DenseLimits(4), {.ep = true});

  EXPECT_FALSE(all[0].sequence_parallel);  // tp 1
  EXPECT_TRUE(all[1].sequence_parallel);
}

TEST(ParallelismsOfTest, DenseModelsHaveNoExpertParallelism) {
  EXPECT_THAT(ParallelismsOf(8, TestIsland(1, 8), DenseLimits(8), {.ep = true}),
              Each(Ep(1)));
}

TEST(ParallelismsOfTest, EpDividesDpAndTheExperts) {
  // 8 experts, dp 16: ep 1, 2, 4, 8.
  const SplitLimits limits(TestMoeModel(1).layers, 16, TrainingWith(512));
  const auto all = ParallelismsOf(16, TestIsland(4, 4), limits, {.ep = true});

  EXPECT_THAT(all, IsSupersetOf({AllOf(Dp(16), Ep(1)), AllOf(Dp(16), Ep(2)),
                                 AllOf(Dp(16), Ep(4)), AllOf(Dp(16), Ep(8))}));
  EXPECT_THAT(all, Not(Contains(Ep(16))));
}

TEST(ParallelismsOfTest, ExpertsAreFullyShardedOverTheWholeStageOnly) {
  const SplitLimits limits(TestMoeModel(1).layers, 8, TrainingWith(512));
  for (const StageParallelism& p :
       ParallelismsOf(8, TestIsland(1, 8), limits, {.ep = true})) {
    if (!p.fsep) continue;
    EXPECT_EQ(p.tp_degree * p.ep_degree, 8);
  }
  EXPECT_THAT(ParallelismsOf(8, TestIsland(1, 8), limits, {.ep = true}),
              Contains(Field(&StageParallelism::fsep, true)).Times(3));
}

TEST(ZeroStagesOfTest, NeedReplicas) {
  EXPECT_THAT(ZeroStagesOf({.tp_degree = 4}), ElementsAre(0));
  EXPECT_THAT(ZeroStagesOf({.dp_degree = 4}), ElementsAre(1, 2, 3));
}

// cp 2 and 4 divide 512 into chunks of both ends; dp divides 1.
TEST(ParallelismsOfTest, LongSequencesAreSplitWhereAsked) {
  EXPECT_THAT(ParallelismsOf(4, TestIsland(1, 4), DenseLimits(1), {}),
              ElementsAre(Tp(4)));
  EXPECT_THAT(ParallelismsOf(4, TestIsland(1, 4), DenseLimits(1), {.cp = true}),
              ElementsAre(AllOf(Tp(1), Cp(4)), AllOf(Tp(2), Cp(2)),
                          AllOf(Tp(4), Cp(1))));
}

MATCHER_P2(Tp2d, x, y, "") {
  return arg.tp_x_degree() == x && arg.tp_y_degree == y &&
         arg.sequence_parallel == (y == 1 && x > 1);
}

// One sample on two nodes of four: only tp is left.
TEST(ParallelismsOfTest, TensorsAreSplitInTwoDimensionsWhereAsked) {
  const ExtraDegrees extra = {.tp_2d = true};
  EXPECT_THAT(ParallelismsOf(4, TestIsland(2, 4), DenseLimits(1), extra),
              ElementsAre(Tp2d(4, 1), Tp2d(2, 2), Tp2d(1, 4)));
  // Beyond a node, tp_x stays in it.
  EXPECT_THAT(ParallelismsOf(8, TestIsland(2, 4), DenseLimits(1), extra),
              ElementsAre(Tp2d(4, 2), Tp2d(2, 4), Tp2d(1, 8)));
  EXPECT_THAT(StageSizes(TestIsland(2, 4), DenseLimits(1), extra),
              ElementsAre(1, 2, 4, 8));
  // 2 does not divide 3, and 4 does not divide 6. The model has 6 heads.
  LayerSpec layer = TestModel(1).layers[1];
  layer.num_heads = layer.num_kv_heads = 6;
  const SplitLimits six_heads({layer}, 1, TrainingWith(12));
  EXPECT_THAT(ParallelismsOf(3, WithTp(TestIsland(1, 6), 3), six_heads, extra),
              ElementsAre(Tp2d(3, 1)));
  EXPECT_THAT(ParallelismsOf(6, WithTp(TestIsland(1, 6), 6), six_heads, extra),
              ElementsAre(Tp2d(6, 1), Tp2d(3, 2)));
  // Groups of four would straddle nodes of six.
  EXPECT_THAT(ParallelismsOf(12, TestIsland(2, 6), DenseLimits(12), extra),
              Each(Field(&StageParallelism::tp_degree, ::testing::Le(2))));
}

TEST(ParallelismsOfTest, ExpertsAreNotSplitInTwoDimensions) {
  const SplitLimits limits(TestMoeModel(1).layers, 1, TrainingWith(512));
  EXPECT_THAT(ParallelismsOf(4, TestIsland(1, 4), limits, {.tp_2d = true}),
              ElementsAre(Tp2d(4, 1)));
}

TEST(SplitLimitsTest, TwoDimensionsSplitTokensAndElements) {
  // 12 tokens, 1,024 elements: tp_x divides 12.
  const SplitLimits limits(TestModel(1).layers, 1, TrainingWith(12));
  EXPECT_TRUE(limits.AllowsTp2d(8, 2));
  EXPECT_FALSE(limits.AllowsTp2d(16, 2));
}

TEST(SplitLimitsTest, EachContextRankTakesTwoChunksOfTheSequence) {
  const SplitLimits limits(TestModel(1).layers, 1, TrainingWith(12));

  const DeviceSpec device = testing::TestDevice();
  EXPECT_TRUE(limits.AllowsCp(1, 1, device));
  EXPECT_TRUE(limits.AllowsCp(1, 2, device));
  EXPECT_FALSE(limits.AllowsCp(1, 4, device));  // 12 / 8.
}

// Each of two context-parallel ranks has 6 tokens.
TEST(SplitLimitsTest, SequenceParallelRanksShareTheTokensOfAContextRank) {
  const SplitLimits limits(TestModel(1).layers, 1, TrainingWith(12));

  EXPECT_TRUE(limits.AllowsSequenceParallel(4, 1));
  EXPECT_FALSE(limits.AllowsSequenceParallel(4, 2));
  EXPECT_TRUE(limits.AllowsSequenceParallel(3, 2));
}

TEST(ParallelismsOfTest, ContextParallelismNeedsFlashAttention) {
  IslandSpec island = TestIsland(1, 4);
  const auto cp_degrees = [&](const TrainingOptions& training) {
    return ParallelismsOf(
        4, island, SplitLimits(TestModel(1).layers, 4, training), {.cp = true});
  };
  EXPECT_THAT(cp_degrees(TrainingWith(512)), Contains(Cp(4)));
  EXPECT_THAT(cp_degrees({.sequence_length = 512, .flash_attention = false}),
              Each(Cp(1)));
  island.device.supports_flash_attention = false;
  EXPECT_THAT(cp_degrees(TrainingWith(512)), Each(Cp(1)));
}

// Stages have the largest size that divides a node and leaves room for all.
TEST(LayoutsOfTest, EachDepthMayLeaveGpusIdle) {
  IslandSpec island = TestIsland(1, 8);
  island.limits = {.max_stages = 4, .each_depth = true};
  EXPECT_THAT(LayoutsOf(island, 10, {1, 2, 4, 8}),
              ElementsAre(EqualStages{1, 8}, EqualStages{2, 4},
                          EqualStages{3, 2}, EqualStages{4, 2}));
}

// Dense and expert layers with heads and experts drawn at random.
ModelSlice RandomSlice(std::mt19937& random) {
  const LayerSpec dense = TestModel(1).layers[1];
  const LayerSpec moe = TestMoeModel(1).layers[1];
  std::vector<LayerSpec> layers(1 + random() % 3);
  for (LayerSpec& layer : layers) {
    layer = random() % 2 == 0 ? dense : moe;
    layer.num_heads = 4 * (1 + static_cast<int>(random() % 6));
    layer.num_kv_heads = 1 + static_cast<int>(random() % 4);
    if (layer.is_moe()) layer.num_experts = 4 + static_cast<int>(random() % 9);
  }
  return MakeSlice({0, static_cast<int>(layers.size())}, layers);
}

// Every stage that a search tries is also within the island's limits.
TEST(ParallelismsOfPropertyTest, EveryStageIsLegal) {
  std::mt19937 random(1);
  const auto pick = [&](std::initializer_list<int> values) {
    return values.begin()[random() % values.size()];
  };
  int num_stages = 0;
  for (int i = 0; i < 500; ++i) {
    SCOPED_TRACE(i);
    const ModelSlice slice = RandomSlice(random);
    IslandSpec island = TestIsland(pick({1, 2, 3}), pick({1, 2, 4, 6, 8}));
    island.device.supports_flash_attention = random() % 2 == 0;
    island.limits = {.tp_degree = pick({0, 0, 0, 2}),
                     .dp_degree = pick({0, 0, 0, 2}),
                     .ep_degree = pick({0, 0, 0, 2}),
                     .max_zero_stage = pick({0, 1, 3}),
                     .no_sequence_parallel = random() % 4 == 0};
    if (island.limits.max_zero_stage == 3 && random() % 3 == 0) {
      island.limits.zero_stage = pick({0, 1, 2, 3});
    }
    if (random() % 3 == 0) island.limits.zero_degree = pick({2, 3, 4});
    const int microbatch_size = pick({1, 2, 4, 6, 12});
    const int sequence_length = pick({508, 510, 512});
    const ExtraDegrees extra = {.cp = random() % 2 == 0,
                                .ep = random() % 2 == 0,
                                .tp_2d = random() % 2 == 0};
    const SplitLimits limits(LayersOf(slice), microbatch_size,
                             TrainingWith(sequence_length));
    const StageRules rules(slice.runs);
    StagePlan stage = {.end = {slice.num_layers(), 0},
                       .recompute = {{.num_layers = slice.num_layers()}}};
    for (const int size : StageSizes(island, limits, extra)) {
      for (StageParallelism parallelism :
           ParallelismsOf(size, island, limits, extra)) {
        for (const int zero_stage : ZeroStagesOf(parallelism, island.limits)) {
          SetZero(island.limits, zero_stage, parallelism);
          stage.parallelism = parallelism;
          EXPECT_THAT(rules.CheckStage(
                          stage, {.max_gpus = size,
                                  .microbatch_size = microbatch_size,
                                  .sequence_length = sequence_length,
                                  .no_context_parallel =
                                      island.device.supports_flash_attention
                                          ? ""
                                          : "no flash attention"}),
                      IsOk());
          EXPECT_EQ(WhyOutside(island.limits, stage, slice.runs), "");
          ++num_stages;
        }
      }
    }
  }
  EXPECT_GT(num_stages, 1000);
}

}  // namespace
}  // namespace tangram
