#include "common/domain/mixer.h"

#include <vector>

#include "common/domain/closed_segments.h"
#include "common/domain/model_rules.h"
#include "common/domain/model_spec.h"
#include "common/domain/recompute_masks.h"
#include "common/domain/stage_rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/mamba_layers.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::Mamba2Layer;
using testing::StatusIs;

LayerSpec MambaLayer() {
  return {.hidden_size = 1024,
          .mixer = MixerKind::kMamba,
          .mamba = {.inner_size = 2048,
                    .state_size = 16,
                    .conv_kernel = 4,
                    .dt_rank = 64,
                    .inner_norms = true},
          .ffn_hidden_size = 4096,
          .gated_mlp = true};
}

TEST(MixerTest, OperatorsAreThoseOfTheMixerAndOfWhatFollows) {
  EXPECT_THAT(OperatorsOf(Mamba2Layer()),
              ElementsAre(OpKind::kMambaNorm, OpKind::kMambaInProjection,
                          OpKind::kMambaConvolution, OpKind::kMambaScan,
                          OpKind::kMambaInnerNorm, OpKind::kMambaOutProjection,
                          OpKind::kMambaResidual));
  EXPECT_THAT(
      OperatorsOf(MambaLayer()),
      ElementsAre(OpKind::kMambaNorm, OpKind::kMambaInProjection,
                  OpKind::kMambaConvolution, OpKind::kMambaStepProjection,
                  OpKind::kMambaScan, OpKind::kMambaOutProjection,
                  OpKind::kMambaResidual, OpKind::kMlpNorm, OpKind::kMlpUp,
                  OpKind::kMlpActivation, OpKind::kMlpDown,
                  OpKind::kMlpResidual));
  LayerSpec mlp = {.hidden_size = 8, .mixer = MixerKind::kNone};
  mlp.ffn_hidden_size = 16;
  EXPECT_EQ(OperatorsOf(mlp).front(), OpKind::kMlpNorm);
  EXPECT_EQ(OperatorsOf(mlp).size(), 5);
  mlp.num_experts = 4;
  EXPECT_EQ(OperatorsOf(mlp).size(), 8);
  LayerSpec attention = testing::TestModel(1).layers[1];
  attention.no_mlp = true;
  EXPECT_EQ(OperatorsOf(attention).back(), OpKind::kAttentionResidual);
  EXPECT_EQ(OperatorsOf(attention).size(), 5);
}

TEST(MixerTest, CountsTheParametersOfMamba2ByHand) {
  const LayerSpec layer = Mamba2Layer();
  // x and z of 2048, B and C of 8 · 128, 32 time steps.
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaInProjection), 1024 * 6176);
  // Four weights and a bias for x, B and C.
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaConvolution), 4096 * 5);
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaScan), 3 * 32);
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaInnerNorm), 2048);
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaOutProjection), 2048 * 1024);
  // And a norm of 1024.
  EXPECT_EQ(ParameterCount(layer),
            6'324'224 + 20'480 + 96 + 2'048 + 2'097'152 + 1'024);
}

TEST(MixerTest, CountsTheParametersOfMambaByHand) {
  const LayerSpec layer = MambaLayer();
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaInProjection), 1024 * 4096);
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaConvolution), 2048 * 5);
  // To 64 + 16 + 16 and from 64 with a bias; norms of 64, 16 and 16.
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaStepProjection),
            2048 * 96 + 64 * 2048 + 2048 + 96);
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaScan), 2048 * 17);
  EXPECT_EQ(ParameterCount(layer, OpKind::kMambaOutProjection), 2048 * 1024);
}

TEST(MixerTest, SplitsByWholeHeadsAndGroups) {
  const LayerSpec layer = Mamba2Layer();
  std::vector<int> degrees;
  for (int tp = 1; tp <= 64; ++tp) {
    if (SplitsMixer(layer, tp)) degrees.push_back(tp);
  }
  EXPECT_THAT(degrees, ElementsAre(1, 2, 4, 8));
  EXPECT_TRUE(SplitsMixer(MambaLayer(), 16));
  EXPECT_FALSE(SplitsMixer(MambaLayer(), 3));
}

// With tp 4, a rank has 8 heads and 2 groups.
TEST(MixerTest, ContextRanksSplitTheChannelsOfMamba2Alone) {
  const LayerSpec layer = Mamba2Layer();
  EXPECT_TRUE(SplitsMixerForCp(layer, 4, 2));
  EXPECT_TRUE(SplitsMixerForCp(layer, 4, 8));  // Groups are repeated.
  EXPECT_FALSE(SplitsMixerForCp(layer, 4, 3));
  EXPECT_FALSE(SplitsMixerForCp(layer, 4, 16));
  EXPECT_FALSE(SplitsMixerForCp(MambaLayer(), 1, 2));
  EXPECT_TRUE(SplitsMixerForCp(MambaLayer(), 8, 1));
}

TEST(MixerTest, RulesNameTheDegreeAndTheLayer) {
  const std::vector<LayerRun> runs = {{Mamba2Layer(), 2}, {MambaLayer(), 1}};
  const StageSite site = {
      .max_gpus = 64, .microbatch_size = 64, .sequence_length = 4096};
  const auto check = [&](int begin, const StageParallelism& parallelism) {
    return StageRules(runs).CheckStage({.begin = {begin, 0},
                                        .end = {begin + 1, 0},
                                        .parallelism = parallelism,
                                        .recompute = {{.num_layers = 1}}},
                                       site);
  };
  EXPECT_THAT(check(0, {.tp_degree = 8, .cp_degree = 4}), IsOk());
  EXPECT_THAT(check(1, {.tp_degree = 16}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("parallelism.tp_degree: 16; expected a "
                                 "divisor of the 32 heads and 8 groups of the "
                                 "Mamba mixer of layer 1")));
  EXPECT_THAT(check(0, {.tp_degree = 8, .cp_degree = 8}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("parallelism.cp_degree: 8; expected a divisor "
                                 "of the 4 heads of a rank")));
  EXPECT_THAT(check(2, {.cp_degree = 2}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("parallelism.cp_degree: 2; expected 1, as the "
                                 "scan of layer 2")));
}

TEST(MixerTest, LayersSayNothingOfMixersThatTheyLack) {
  EXPECT_THAT(CheckLayerFits(Mamba2Layer()), IsOk());
  EXPECT_THAT(CheckLayerFits(MambaLayer()), IsOk());
  const auto refuses = [](const LayerSpec& layer, const char* message) {
    EXPECT_THAT(
        CheckLayerFits(layer),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  LayerSpec layer = Mamba2Layer();
  layer.num_heads = 4;
  refuses(layer, "num_heads: 4; expected 0, as the mixer is mamba2");
  layer = Mamba2Layer();
  layer.mamba.head_dim = 96;
  refuses(layer, "mamba.head_dim: 96; expected a divisor of mamba.inner_size");
  layer = Mamba2Layer();
  layer.mamba.groups = 5;
  refuses(layer, "mamba.groups: 5; expected a divisor of the 32 heads");
  layer = Mamba2Layer();
  layer.mamba.dt_rank = 5;
  refuses(layer, "mamba.dt_rank: 5; expected 0, as the mixer is mamba2");
  layer = MambaLayer();
  layer.mamba.dt_rank = 0;
  refuses(layer, "mamba.dt_rank: 0; expected a positive integer");
  layer = MambaLayer();
  layer.mamba.groups = 2;
  refuses(layer, "mamba.groups: 2; expected 0, as the mixer is mamba");
  layer = Mamba2Layer();
  layer.ffn_hidden_size = 8;
  refuses(layer, "ffn_hidden_size: 8; expected 0, as no_mlp is true");
  layer = testing::TestModel(1).layers[1];
  layer.mamba.inner_size = 8;
  refuses(layer, "mamba: given; expected none, as the mixer is attention");
  refuses({.hidden_size = 8, .mixer = MixerKind::kNone, .no_mlp = true},
          "no_mlp: true; expected false, as the mixer is none");
}

// The scan uses outputs of the first projection and of the convolution.
TEST(MixerTest, ClosedSegmentsReachTheScan) {
  EXPECT_EQ(CloseSegments(Mamba2Layer(), 0b0000010), 0b0001110);
  EXPECT_EQ(CloseSegments(MambaLayer(), 0b000000000100), 0b000000011100);
  EXPECT_EQ(CloseSegments(Mamba2Layer(), 0b0010000), 0b0010000);
}

TEST(MixerTest, SelectiveRecomputationLeavesMambaAlone) {
  EXPECT_EQ(MaskOf(Mamba2Layer(), LayerRecompute::kAttentionCore),
            kRecomputeNone);
  EXPECT_EQ(MaskOf(Mamba2Layer(), LayerRecompute::kWholeLayer), 0b1111111);
}

}  // namespace
}  // namespace tangram
