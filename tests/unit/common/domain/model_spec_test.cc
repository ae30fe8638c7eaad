#include "common/domain/model_spec.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

LayerSpec Gpt3Layer() {
  return {.hidden_size = 4096,
          .num_heads = 32,
          .num_kv_heads = 32,
          .head_dim = 128,
          .value_head_dim = 128,
          .ffn_hidden_size = 16384,
          .linear_bias = true,
          .norm_bias = true};
}

LayerSpec MixtralLayer() {
  return {.hidden_size = 4096,
          .num_heads = 32,
          .num_kv_heads = 8,
          .head_dim = 128,
          .value_head_dim = 128,
          .gated_mlp = true,
          .num_experts = 8,
          .experts_per_token = 2,
          .expert_ffn_hidden_size = 14336};
}

LayerSpec LatentAttentionLayer() {
  return {.hidden_size = 7168,
          .num_heads = 128,
          .num_kv_heads = 128,
          .head_dim = 192,  // 128 and 64 rotary.
          .value_head_dim = 128,
          .q_lora_rank = 1536,
          .kv_lora_rank = 512,
          .rope_head_dim = 64,
          .ffn_hidden_size = 18432,
          .gated_mlp = true};
}

TEST(OperatorsOfTest, FollowTheKindOfLayer) {
  EXPECT_THAT(OperatorsOf({.kind = LayerKind::kEmbedding}),
              ElementsAre(OpKind::kEmbedding));
  EXPECT_THAT(OperatorsOf({.kind = LayerKind::kHead}),
              ElementsAre(OpKind::kFinalNorm, OpKind::kHead));
  EXPECT_THAT(OperatorsOf(Gpt3Layer()),
              ElementsAre(OpKind::kAttentionNorm, OpKind::kQkvProjection,
                          OpKind::kAttentionCore, OpKind::kOutputProjection,
                          OpKind::kAttentionResidual, OpKind::kMlpNorm,
                          OpKind::kMlpUp, OpKind::kMlpActivation,
                          OpKind::kMlpDown, OpKind::kMlpResidual));
  EXPECT_EQ(OperatorsOf(MixtralLayer()).size(), 13);
}

TEST(OpNameTest, IsDifferentForEveryOperator) {
  std::set<std::string> names;
  constexpr int kNumOps = static_cast<int>(OpKind::kMambaResidual) + 1;
  for (int op = 0; op < kNumOps; ++op) {
    names.insert(OpName(static_cast<OpKind>(op)));
  }
  EXPECT_EQ(names.size(), kNumOps);
  EXPECT_EQ(names.count("unknown"), 0);
}

TEST(IsResidualCutTest, HoldsAtTheStartAndBeforeTheMlpNorm) {
  const LayerSpec layer = Gpt3Layer();
  std::vector<int> cuts;
  for (size_t i = 0; i < OperatorsOf(layer).size(); ++i) {
    if (IsResidualCut(layer, static_cast<int>(i))) {
      cuts.push_back(static_cast<int>(i));
    }
  }
  EXPECT_THAT(cuts, ElementsAre(0, 5));
  EXPECT_FALSE(IsResidualCut({.kind = LayerKind::kHead}, 1));
}

TEST(ParameterCountTest, CountsWeightsBiasesAndNormsOfADenseLayer) {
  const LayerSpec layer = Gpt3Layer();
  EXPECT_EQ(ParameterCount(layer, OpKind::kAttentionNorm), 2 * 4096);
  EXPECT_EQ(ParameterCount(layer, OpKind::kQkvProjection), 4097 * 3 * 4096);
  EXPECT_EQ(ParameterCount(layer, OpKind::kOutputProjection), 4097 * 4096);
  EXPECT_EQ(ParameterCount(layer, OpKind::kMlpUp), 4097 * 16384);
  EXPECT_EQ(ParameterCount(layer, OpKind::kMlpDown), 16385 * 4096);
  EXPECT_EQ(ParameterCount(layer, OpKind::kAttentionCore), 0);
  // 16,384 + 50,343,936 + 16,781,312 + 67,125,248 + 67,112,960.
  EXPECT_EQ(ParameterCount(layer), 201'379'840);
}

TEST(ParameterCountTest, IsThePublishedSizeOfGpt3) {
  ModelSpec model;
  model.layers.push_back({.kind = LayerKind::kEmbedding,
                          .hidden_size = 4096,
                          .vocab_size = 50257,
                          .max_position_embeddings = 2048});
  model.layers.insert(model.layers.end(), 32, Gpt3Layer());
  model.layers.push_back({.kind = LayerKind::kHead,
                          .hidden_size = 4096,
                          .vocab_size = 50257,
                          .tied_embeddings = true,
                          .norm_bias = true});
  // 32 · 201,379,840 + 4096 · (50,257 + 2,048) + 2 · 4096.
  EXPECT_EQ(ParameterCount(model), 6'658'404'352);
}

TEST(ParameterCountTest, CountsATiedMatrixOnceInTheModelButWhereItIsStored) {
  const LayerSpec head = {.kind = LayerKind::kHead,
                          .hidden_size = 8,
                          .vocab_size = 100,
                          .tied_embeddings = true};
  EXPECT_EQ(ParameterCount(head, OpKind::kHead), 800);
  EXPECT_EQ(ParameterCount(head), 8);  // The final norm.
}

TEST(ParameterCountTest, CountsAllExpertsAndTheRouter) {
  const LayerSpec layer = MixtralLayer();
  // Queries 4096 wide, keys and values 8 · 128 each.
  EXPECT_EQ(ParameterCount(layer, OpKind::kQkvProjection),
            4096 * (4096 + 1024 + 1024));
  EXPECT_EQ(ParameterCount(layer, OpKind::kRouter), 4096 * 8);
  EXPECT_EQ(ParameterCount(layer, OpKind::kExpertUp), 8. * 2 * 4096 * 14336);
  EXPECT_EQ(ParameterCount(layer, OpKind::kExpertDown), 8. * 4096 * 14336);
  // 8,192 + 25,165,824 + 16,777,216 + 32,768 + 1,409,286,144.
  EXPECT_EQ(ParameterCount(layer), 1'451'270'144);
}

TEST(ParameterCountTest, CountsSharedExpertsWithTheRouter) {
  LayerSpec layer = MixtralLayer();
  layer.shared_expert_ffn_hidden_size = 1000;
  EXPECT_EQ(ParameterCount(layer, OpKind::kRouter), 4096 * 8 + 3 * 4096 * 1000);
}

// The shared expert is as wide as the layer, the routed ones are not.
TEST(ParameterCountTest, CountsExpertsOfAnotherWidthAndTheirProjections) {
  LayerSpec layer = MixtralLayer();
  layer.expert_latent_size = 1024;
  layer.shared_expert_ffn_hidden_size = 1000;
  EXPECT_EQ(ParameterCount(layer, OpKind::kRouter),
            4096 * 8 + 3 * 4096 * 1000 + 4096 * 1024);
  EXPECT_EQ(ParameterCount(layer, OpKind::kExpertUp), 8. * 2 * 1024 * 14336);
  EXPECT_EQ(ParameterCount(layer, OpKind::kExpertDown), 8. * 1024 * 14336);
  EXPECT_EQ(ParameterCount(layer, OpKind::kExpertCombine), 1024 * 4096);
  layer.linear_bias = true;
  EXPECT_EQ(ParameterCount(layer, OpKind::kExpertDown),
            8. * 1024 * (14336 + 1));
  EXPECT_EQ(ParameterCount(layer, OpKind::kExpertCombine), 4096 * (1024 + 1));
}

TEST(ParameterCountTest, CountsTheLatentsOfMultiHeadLatentAttention) {
  const LayerSpec layer = LatentAttentionLayer();
  // Queries: 7168 · 1536 down, norm 1536, 1536 · 128 · 192 up = 48,760,320.
  // Keys and values: 7168 · (512 + 64) down, norm 512,
  // 512 · 128 · (128 + 128) up = 20,906,496.
  EXPECT_EQ(ParameterCount(layer, OpKind::kQkvProjection), 69'666'816);
  EXPECT_EQ(ParameterCount(layer, OpKind::kOutputProjection), 128 * 128 * 7168);
}

TEST(ParameterCountTest, KnowsTheBiasesAndNormsOfQkvAlone) {
  LayerSpec layer = MixtralLayer();
  const double plain = ParameterCount(layer, OpKind::kQkvProjection);
  layer.qkv_bias = true;
  EXPECT_EQ(ParameterCount(layer, OpKind::kQkvProjection),
            plain + 4096 + 1024 + 1024);
  layer.qkv_bias = false;
  layer.qk_norm = true;
  EXPECT_EQ(ParameterCount(layer, OpKind::kQkvProjection), plain + 2 * 128);
}

TEST(FingerprintOfLayerTest, ChangesWithEveryField) {
  const std::vector<std::function<void(LayerSpec&)>> changes = {
      [](LayerSpec& l) { l.kind = LayerKind::kHead; },
      [](LayerSpec& l) { ++l.hidden_size; },
      [](LayerSpec& l) { ++l.num_heads; },
      [](LayerSpec& l) { ++l.num_kv_heads; },
      [](LayerSpec& l) { ++l.head_dim; },
      [](LayerSpec& l) { ++l.value_head_dim; },
      [](LayerSpec& l) { ++l.sliding_window; },
      [](LayerSpec& l) { ++l.q_lora_rank; },
      [](LayerSpec& l) { ++l.kv_lora_rank; },
      [](LayerSpec& l) { ++l.rope_head_dim; },
      [](LayerSpec& l) { ++l.ffn_hidden_size; },
      [](LayerSpec& l) { l.gated_mlp = true; },
      [](LayerSpec& l) { ++l.num_experts; },
      [](LayerSpec& l) { ++l.experts_per_token; },
      [](LayerSpec& l) { ++l.expert_ffn_hidden_size; },
      [](LayerSpec& l) { ++l.shared_expert_ffn_hidden_size; },
      [](LayerSpec& l) { ++l.expert_latent_size; },
      [](LayerSpec& l) { l.expert_capacity_factor = 1.5; },
      [](LayerSpec& l) { ++l.expert_group_tokens; },
      [](LayerSpec& l) { ++l.vocab_size; },
      [](LayerSpec& l) { ++l.max_position_embeddings; },
      [](LayerSpec& l) { l.tied_embeddings = true; },
      [](LayerSpec& l) { l.linear_bias = true; },
      [](LayerSpec& l) { l.norm_bias = true; },
      [](LayerSpec& l) { l.qkv_bias = true; },
      [](LayerSpec& l) { l.qk_norm = true; },
      [](LayerSpec& l) { l.mixer = MixerKind::kMamba; },
      [](LayerSpec& l) { l.mixer = MixerKind::kMamba2; },
      [](LayerSpec& l) { l.no_mlp = true; },
      [](LayerSpec& l) { ++l.mamba.inner_size; },
      [](LayerSpec& l) { ++l.mamba.head_dim; },
      [](LayerSpec& l) { ++l.mamba.groups; },
      [](LayerSpec& l) { ++l.mamba.state_size; },
      [](LayerSpec& l) { ++l.mamba.conv_kernel; },
      [](LayerSpec& l) { ++l.mamba.dt_rank; },
      [](LayerSpec& l) { l.mamba.inner_norms = true; },
  };
  const LayerSpec plain;
  // Stops compiling when a field is added. Add the field to `changes` as well.
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v,
               w, x, y, z, aa, ab, ac] = plain;
  (void)a;

  std::set<Fingerprint> fingerprints = {FingerprintOf(plain)};
  for (const auto& change : changes) {
    LayerSpec layer = plain;
    change(layer);
    fingerprints.insert(FingerprintOf(layer));
  }
  EXPECT_EQ(fingerprints.size(), 1 + changes.size());
}

// Profiles name measurements by it.
TEST(FingerprintOfLayerTest, IsThatOfVersionsThatKnewNoLatents) {
  EXPECT_EQ(FingerprintOf(MixtralLayer()), 0x136c6476e8467df9ULL);
}

}  // namespace
}  // namespace tangram
