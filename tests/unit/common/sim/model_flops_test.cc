#include "common/sim/model_flops.h"

#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/mamba_layers.h"

namespace tangram {
namespace {

// One dense layer, h = 1024, ffn = 4h, vocabulary 1000, s = 512.
constexpr double kTokens = 512;
constexpr double kLayerWeights = 12. * 1024 * 1024;  // 3h² + h² + 4h² + 4h².
constexpr double kHeadWeights = 1000. * 1024;

TEST(ModelFlopsTest, CountsMatrixProductsAndAttentionThreeTimes) {
  // Scores and context: 2 · s · s · h each.
  const double attention = 4 * kTokens * kTokens * 1024;
  const double weights = kLayerWeights + kHeadWeights;
  EXPECT_EQ(ModelFlops(testing::TestModel(1), testing::TestTraining()),
            3 * (2 * kTokens * weights + attention));
}

TEST(ModelFlopsTest, GrowsByTheSameWithEveryLayer) {
  const TrainingOptions training = testing::TestTraining();
  const double one = ModelFlops(testing::TestModel(1), training);
  const double two = ModelFlops(testing::TestModel(2), training);
  const double four = ModelFlops(testing::TestModel(4), training);
  EXPECT_EQ(four - two, 2 * (two - one));
}

TEST(ModelFlopsTest, IgnoresBiasesAndNorms) {
  ModelSpec model = testing::TestModel(1);
  const double plain = ModelFlops(model, testing::TestTraining());
  for (LayerSpec& layer : model.layers) {
    layer.linear_bias = layer.norm_bias = layer.qkv_bias = layer.qk_norm = true;
  }
  EXPECT_EQ(ModelFlops(model, testing::TestTraining()), plain);
}

TEST(ModelFlopsTest, LimitsAttentionToTheWindow) {
  ModelSpec model = testing::TestModel(1);
  model.layers[1].sliding_window = 128;
  const double attention = 4 * kTokens * 128 * 1024;
  const double weights = kLayerWeights + kHeadWeights;
  EXPECT_EQ(ModelFlops(model, testing::TestTraining()),
            3 * (2 * kTokens * weights + attention));
}

TEST(ModelFlopsTest, CountsOnlyTheExpertsOfAToken) {
  const double attention = 4 * kTokens * kTokens * 1024;
  // Attention 4h², router 8h, two experts of 8h².
  const double weights = (4 + 2 * 8) * 1024. * 1024 + 8 * 1024 + kHeadWeights;
  EXPECT_EQ(ModelFlops(testing::TestMoeModel(1), testing::TestTraining()),
            3 * (2 * kTokens * weights + attention));
}

TEST(ModelFlopsTest, CountsExpertsOfAnotherWidthAndTheirProjections) {
  ModelSpec model = testing::TestMoeModel(1);
  model.layers[1].expert_latent_size = 256;
  const double attention = 4 * kTokens * kTokens * 1024;
  // Attention 4h², router 8h, two projections h · h / 4, two experts of 2h².
  const double weights =
      (4 + 0.5 + 2 * 2) * 1024. * 1024 + 8 * 1024 + kHeadWeights;
  EXPECT_EQ(ModelFlops(model, testing::TestTraining()),
            3 * (2 * kTokens * weights + attention));
}

TEST(ModelFlopsTest, CountsTheLatentsWithoutTheirNorms) {
  const ModelSpec model = {.layers = {{.hidden_size = 8,
                                       .num_heads = 2,
                                       .num_kv_heads = 2,
                                       .head_dim = 6,
                                       .value_head_dim = 4,
                                       .q_lora_rank = 3,
                                       .kv_lora_rank = 5,
                                       .rope_head_dim = 2}}};
  // Queries 8 · 3 + 3 · 2 · 6 = 60; keys and values 8 · (5 + 2) +
  // 5 · 2 · (4 + 4) = 136; output 2 · 4 · 8 = 64; one token attends to itself
  // with 2 · (6 + 4) = 20. 3 · 2 · 280.
  EXPECT_EQ(ModelFlops(model, {.sequence_length = 1}), 1680);
}

// 6 FLOPs a weight and token, and 21 for each number of the states: 7 a pass.
TEST(ModelFlopsTest, CountsTheScanOfMambaAsMegatronDoes) {
  ModelSpec model = testing::TestModel(1);
  model.layers[1] = testing::Mamba2Layer();
  // The projections, and four weights for x, B and C.
  const double weights = 1024 * 6176 + 2048 * 1024 + 4 * 4096;
  EXPECT_EQ(ModelFlops(model, testing::TestTraining()),
            kTokens * (6 * (weights + kHeadWeights) + 21 * 2048 * 128));
}

}  // namespace
}  // namespace tangram
