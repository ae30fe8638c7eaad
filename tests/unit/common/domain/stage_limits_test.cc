#include "common/domain/stage_limits.h"

#include <string>
#include <vector>

#include "common/domain/model_slice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The layers of a model: embedding, two transformer layers, head.
std::vector<LayerRun> Runs() {
  return MakeSlice({0, 4}, testing::TestModel(2).layers).runs;
}

std::string WhyOutside(const StageLimits& limits, const StagePlan& stage) {
  return tangram::WhyOutside(limits, stage, Runs());
}

constexpr StageParallelism kTp2Dp4 = {.tp_degree = 2, .dp_degree = 4};

TEST(StageLimitsTest, NoneAllowEverything) {
  EXPECT_TRUE(StageLimits().none());
  EXPECT_THAT(WhyOutside({}, {.parallelism = {.tp_degree = 2,
                                              .cp_degree = 2,
                                              .dp_degree = 2,
                                              .zero_stage = 3,
                                              .sequence_parallel = true},
                              .offload = {.weights = 1}}),
              IsEmpty());
}

TEST(StageLimitsTest, NameWhatIsOutside) {
  const StagePlan stage = {.parallelism = kTp2Dp4};
  EXPECT_EQ(WhyOutside({.tp_degree = 4}, stage), "tp 2, expected 4");
  EXPECT_EQ(WhyOutside({.dp_degree = 2}, stage), "dp 4, expected 2");
  EXPECT_EQ(WhyOutside({.cp_degree = 2}, stage), "cp 1, expected 2");
  EXPECT_EQ(WhyOutside({.gpus_per_stage = 4}, stage),
            "GPUs in a stage 8, expected 4");
  EXPECT_THAT(
      WhyOutside({.tp_degree = 2, .dp_degree = 4, .gpus_per_stage = 8}, stage),
      IsEmpty());
}

TEST(StageLimitsTest, SettingsWithoutEffectAreWithin) {
  const StageLimits limits = {.max_zero_stage = 0,
                              .no_sequence_parallel = true};
  StagePlan stage = {
      .parallelism = {.zero_stage = 3, .sequence_parallel = true}};
  EXPECT_THAT(WhyOutside(limits, stage), IsEmpty());
  stage.parallelism.tp_degree = 2;
  EXPECT_THAT(WhyOutside(limits, stage), HasSubstr("sequence parallelism"));
  stage.parallelism = {.dp_degree = 2, .zero_stage = 1};
  EXPECT_THAT(WhyOutside(limits, stage), HasSubstr("ZeRO stage 1"));
}

TEST(StageLimitsTest, ZeroStagesAreOfStagesWithReplicas) {
  const StageLimits limits = {.zero_stage = 2};
  EXPECT_THAT(WhyOutside(limits, {.parallelism = {.tp_degree = 4}}), IsEmpty());
  EXPECT_EQ(WhyOutside(limits, {.parallelism = kTp2Dp4}),
            "ZeRO stage 0, expected 2");
  EXPECT_EQ(ZeroStageWithin(limits, kTp2Dp4, 1), 2);
  EXPECT_EQ(ZeroStageWithin(limits, {.tp_degree = 4}, 1), 0);
  EXPECT_EQ(ZeroStageWithin({.max_zero_stage = 0}, kTp2Dp4, 1), 0);
  EXPECT_EQ(ZeroStageWithin({}, {.cp_degree = 2}, 3), 3);
}

TEST(StageLimitsTest, ZeroDegreesAreOfStagesThatShardOverMore) {
  const StageLimits limits = {.zero_degree = 4};
  StageParallelism p = {.dp_degree = 8};
  EXPECT_THAT(WhyOutside(limits, {.parallelism = p}), IsEmpty());
  p.zero_stage = 1;
  EXPECT_EQ(WhyOutside(limits, {.parallelism = p}), "ZeRO over 8, expected 4");
  SetZero(limits, 1, p);
  EXPECT_EQ(p.zero_degree, 4);
  EXPECT_THAT(WhyOutside(limits, {.parallelism = p}), IsEmpty());
  p.zero_degree = 2;
  EXPECT_EQ(WhyOutside(limits, {.parallelism = p}), "ZeRO over 2, expected 4");
  // Nothing is sharded, or over no more than 4.
  SetZero(limits, 0, p);
  EXPECT_EQ(p.zero_degree, 0);
  p.dp_degree = 2;
  SetZero(limits, 3, p);
  EXPECT_EQ(p.zero_degree, 0);
  EXPECT_THAT(WhyOutside(limits, {.parallelism = p}), IsEmpty());
  // 4 does not divide 6, nor hold 8 experts.
  for (const int ep : {1, 8}) {
    StageParallelism other = {.dp_degree = ep == 1 ? 6 : 8, .ep_degree = ep};
    SetZero(limits, 1, other);
    EXPECT_EQ(other.zero_degree, 0);
    EXPECT_THAT(WhyOutside(limits, {.parallelism = other}),
                HasSubstr("ZeRO over"));
  }
}

TEST(StageLimitsTest, ExpertDegreesAreOfStagesWithExperts) {
  const StageLimits limits = {.ep_degree = 2};
  const std::vector<LayerRun> experts =
      MakeSlice({0, 4}, testing::TestMoeModel(2).layers).runs;
  StagePlan stage = {.end = {4, 0},
                     .parallelism = {.dp_degree = 4},
                     .recompute = {{.num_layers = 4}}};
  EXPECT_THAT(WhyOutside(limits, stage), IsEmpty());  // Without experts.
  EXPECT_EQ(tangram::WhyOutside(limits, stage, experts), "ep 1, expected 2");
  stage.parallelism.ep_degree = 2;
  EXPECT_THAT(tangram::WhyOutside(limits, stage, experts), IsEmpty());
  stage.parallelism.ep_degree = 4;
  EXPECT_EQ(WhyOutside(limits, stage), "ep 4, expected 2");
}

TEST(StageLimitsTest, EveryTransformerLayerRecomputesAsDemanded) {
  const LayerSpec layer = testing::TestModel(2).layers[1];
  const auto stage_with = [&](LayerRecompute first, LayerRecompute second) {
    StagePlan stage = {.begin = {0, 0}, .end = {4, 0}};
    AppendMask(kRecomputeNone, stage.recompute);
    AppendMask(MaskOf(layer, first), stage.recompute);
    AppendMask(MaskOf(layer, second), stage.recompute);
    AppendMask(kRecomputeNone, stage.recompute);
    return stage;
  };
  for (const LayerRecompute demanded : kLayerRecomputes) {
    const StageLimits limits = {.recompute = demanded};
    for (const LayerRecompute other : kLayerRecomputes) {
      EXPECT_EQ(WhyOutside(limits, stage_with(demanded, other)).empty(),
                other == demanded);
    }
  }
  EXPECT_EQ(
      WhyOutside({.recompute = LayerRecompute::kWholeLayer},
                 stage_with(LayerRecompute::kNone, LayerRecompute::kNone)),
      "recomputation, expected full");
}

TEST(StageLimitsTest, PartOfALayerRecomputesWhatItHolds) {
  // The second half of a layer, all recomputed: no attention core.
  StagePlan stage = {.begin = {1, 6},
                     .end = {2, 0},
                     .recompute = {{.num_layers = 1, .mask = 0b1111000000}}};
  EXPECT_THAT(WhyOutside({.recompute = LayerRecompute::kWholeLayer}, stage),
              IsEmpty());
  EXPECT_THAT(WhyOutside({.recompute = LayerRecompute::kAttentionCore}, stage),
              HasSubstr("expected selective"));
  stage.recompute.front().mask = kRecomputeNone;
  EXPECT_THAT(WhyOutside({.recompute = LayerRecompute::kAttentionCore}, stage),
              IsEmpty());
}

TEST(StageLimitsTest, JoinedAreBoth) {
  const JoinedLimits joined =
      Join({.tp_degree = 2, .max_stages = 4, .max_zero_stage = 1},
           {.dp_degree = 4,
            .max_stages = 3,
            .no_offload = true,
            .residual_cuts = true});
  EXPECT_FALSE(joined.contradiction);
  EXPECT_EQ(joined.limits, (StageLimits{.tp_degree = 2,
                                        .dp_degree = 4,
                                        .max_stages = 3,
                                        .max_zero_stage = 1,
                                        .no_offload = true,
                                        .residual_cuts = true}));
  EXPECT_TRUE(Join({.tp_degree = 2}, {.tp_degree = 4}).contradiction);
  EXPECT_FALSE(Join({.tp_degree = 2}, {.tp_degree = 2}).contradiction);
  EXPECT_TRUE(Join({.ep_degree = 2}, {.ep_degree = 4}).contradiction);
  EXPECT_TRUE(Join({.zero_stage = 0}, {.zero_stage = 1}).contradiction);
  EXPECT_TRUE(Join({.zero_degree = 4}, {.zero_degree = 8}).contradiction);
  EXPECT_EQ(Join({.zero_degree = 4}, {}).limits.zero_degree, 4);
  EXPECT_TRUE(Join({.zero_stage = 2}, {.max_zero_stage = 1}).contradiction);
  EXPECT_EQ(Join({.zero_stage = 1}, {.max_zero_stage = 1}).limits.zero_stage,
            1);
  EXPECT_TRUE(Join({}, {.each_depth = true}).limits.each_depth);
  EXPECT_TRUE(Join({.recompute = LayerRecompute::kNone},
                   {.recompute = LayerRecompute::kWholeLayer})
                  .contradiction);
}

TEST(StageLimitsTest, EveryLimitCountsInTheFingerprint) {
  const Fingerprint none = FingerprintOf(StageLimits());
  for (const StageLimits& limits :
       {StageLimits{.tp_degree = 1}, StageLimits{.cp_degree = 1},
        StageLimits{.dp_degree = 1}, StageLimits{.gpus_per_stage = 1},
        StageLimits{.max_stages = 1}, StageLimits{.max_zero_stage = 1},
        StageLimits{.each_depth = true}, StageLimits{.ep_degree = 1},
        StageLimits{.zero_stage = 0}, StageLimits{.zero_stage = 1},
        StageLimits{.zero_degree = 4},
        StageLimits{.no_sequence_parallel = true},
        StageLimits{.no_offload = true}, StageLimits{.residual_cuts = true},
        StageLimits{.closed_recompute = true},
        StageLimits{.recompute = LayerRecompute::kNone}}) {
    EXPECT_NE(FingerprintOf(limits), none);
    EXPECT_FALSE(limits.none());
  }
}

}  // namespace
}  // namespace tangram
