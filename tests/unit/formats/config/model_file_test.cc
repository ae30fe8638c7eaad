#include "formats/config/model_file.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::kBadInput;
using ::tangram::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::string_view kMoe = R"(
name: my-moe
layers: 6
hidden_size: 64
heads: 8
kv_heads: 2
ffn_hidden_size: 256
gated_mlp: true
experts: {count: 4, per_token: 2, ffn_hidden_size: 128,
          shared_ffn_hidden_size: 32, latent_size: 48,
          capacity_factor: 1.5, group_tokens: 64,
          first_layer: 1, every: 2}
vocab_size: 1000
max_positions: 100
tied_embeddings: true
bias: qkv
norm_bias: true
qk_norm: true
sliding_window: 16
)";

std::string Moe(absl::string_view from, absl::string_view to) {
  return absl::StrReplaceAll(kMoe, {{from, to}});
}

TEST(ParseModelTest, ReadsEveryField) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ParseModel(kMoe, "f"));
  EXPECT_EQ(model.name, "my-moe");
  ASSERT_EQ(model.num_layers(), 8);
  LayerSpec dense = {.hidden_size = 64,
                     .num_heads = 8,
                     .num_kv_heads = 2,
                     .head_dim = 8,
                     .value_head_dim = 8,
                     .sliding_window = 16,
                     .ffn_hidden_size = 256,
                     .gated_mlp = true,
                     .norm_bias = true,
                     .qkv_bias = true,
                     .qk_norm = true};
  LayerSpec moe = dense;
  moe.ffn_hidden_size = 0;
  moe.num_experts = 4;
  moe.experts_per_token = 2;
  moe.expert_ffn_hidden_size = 128;
  moe.shared_expert_ffn_hidden_size = 32;
  moe.expert_latent_size = 48;
  moe.expert_capacity_factor = 1.5;
  moe.expert_group_tokens = 64;
  // Experts in layers 1, 3, 5; layer 0 follows the embedding.
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(model.layers[i + 1], i % 2 == 1 ? moe : dense) << i;
  }
  EXPECT_EQ(model.layers.front(), (LayerSpec{.kind = LayerKind::kEmbedding,
                                             .hidden_size = 64,
                                             .vocab_size = 1000,
                                             .max_position_embeddings = 100,
                                             .tied_embeddings = true}));
  EXPECT_EQ(model.layers.back(), (LayerSpec{.kind = LayerKind::kHead,
                                            .hidden_size = 64,
                                            .vocab_size = 1000,
                                            .tied_embeddings = true,
                                            .norm_bias = true}));
}

TEST(ParseModelTest, ReadsLatentAttention) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ParseModel(R"(
layers: 1
hidden_size: 64
heads: 4
head_dim: 24
latent_attention: {q_rank: 32, kv_rank: 16, rope_head_dim: 8, value_head_dim: 12}
ffn_hidden_size: 10
vocab_size: 10
)",
                                                         "dir/mine.yaml"));
  EXPECT_EQ(model.name, "mine");
  const LayerSpec& layer = model.layers[1];
  EXPECT_EQ(layer.head_dim, 24);
  EXPECT_EQ(layer.value_head_dim, 12);
  EXPECT_EQ(layer.rope_head_dim, 8);
  EXPECT_EQ(layer.q_lora_rank, 32);
  EXPECT_EQ(layer.kv_lora_rank, 16);
}

TEST(ParseModelTest, NamesFieldValueAndWhatWasExpected) {
  struct Case {
    std::string from;
    std::string to;
    std::string message;
  };
  const Case cases[] = {
      {"name: my-moe", "name: \"a\\nb\"", "expected a text without control"},
      {"layers: 6", "layers: 0", "f: layers: 0; expected a positive integer"},
      {"layers: 6", "layers: 16383", "at most 16382"},
      {"layers: 6", "layer: 6", "layer: unknown key; did you mean layers?"},
      {"hidden_size: 64\n", "\n", "f: hidden_size: missing"},
      {"hidden_size: 64", "hidden_size: -1", "-1; expected a positive integer"},
      {"\nheads: 8", "\nheads: 6",
       "f: heads: 6; expected a divisor of hidden_size"},
      {"kv_heads: 2", "kv_heads: 3", "3; expected a divisor of heads (8)"},
      {"per_token: 2", "per_token: 5",
       "experts.per_token: 5; expected a positive integer, at most 4"},
      {"every: 2", "every: 0", "experts.every: 0; expected a positive"},
      {"latent_size: 48", "latent_size: -1",
       "experts.latent_size: -1; expected"},
      {"first_layer: 1", "first_layer: 6",
       "experts.first_layer: 6; expected one of the 6 layers, counted from 0"},
      {"ffn_hidden_size: 256\n", "\n", "ffn_hidden_size: missing"},
      {"vocab_size: 1000", "vocab_size: many", "many; expected a positive"},
      {"bias: qkv", "bias: some", "some; expected none, qkv or all"},
      {"gated_mlp: true", "gated_mlp: 1", "gated_mlp: 1; expected true or"},
      {"capacity_factor: 1.5", "capacity_factor: 0.5",
       "experts.capacity_factor: 0.5; expected"},
      {"capacity_factor: 1.5, ", "",
       "experts.group_tokens: 64; expected 0, as there is no capacity_factor"},
      {"qk_norm: true", "qk_norm: true\ndtype: half",
       "dtype: half; expected float32, float16 or bfloat16"},
      {"sliding_window: 16",
       "latent_attention: {kv_rank: 8, rope_head_dim: 8,"
       " value_head_dim: 8}",
       "rope_head_dim: 8; expected less than head_dim (8)"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.to);
    ASSERT_NE(Moe(c.from, c.to), kMoe);
    EXPECT_THAT(ParseModel(Moe(c.from, c.to), "f"),
                StatusIs(kBadInput, HasSubstr(c.message)));
  }
  EXPECT_THAT(ParseModel("[]", "f"),
              StatusIs(kBadInput, "f: a list; expected a mapping"));
}

TEST(LoadModelTest, FindsBuiltinModels) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, LoadModel("GPT3-6.7b", {}));
  EXPECT_EQ(model.name, "gpt3-6.7b");
}

TEST(LoadModelTest, OverridesTheNumberOfLayers) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model,
                       LoadModel("mixtral-8x7b", {.num_layers = 16}));
  EXPECT_EQ(model.num_layers(), 18);
  EXPECT_THAT(LoadModel("mixtral-8x7b", {.num_layers = 0}),
              StatusIs(kBadInput, HasSubstr("num_layers: 0")));
}

TEST(LoadModelTest, NamesADownloadAfterItsFolder) {
  const std::string text =
      R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
          "n_positions": 1024, "vocab_size": 50257})";
  ASSERT_OK_AND_ASSIGN(const ModelSpec model,
                       ParseModel(text, "models/my-gpt/config.json"));
  EXPECT_EQ(model.name, "my-gpt");
}

TEST(LoadModelTest, ListsTheBuiltinModelsForAnUnknownName) {
  EXPECT_THAT(LoadModel("gpt5", {}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("gpt5"), HasSubstr("llama3-8b"))));
}

TEST(LoadModelTest, LoadsShippedModels) {
  const std::string folder =
      absl::StrCat(TANGRAM_SOURCE_DIR, "/deploy/models/");
  ASSERT_OK_AND_ASSIGN(const ModelSpec llama,
                       LoadModel(folder + "llama2-7b.yaml", {}));
  EXPECT_DOUBLE_EQ(ParameterCount(llama), 6'738'415'616);
  ASSERT_OK_AND_ASSIGN(const ModelSpec mixtral,
                       LoadModel(folder + "mixtral-8x22b.yaml", {}));
  EXPECT_DOUBLE_EQ(ParameterCount(mixtral), 140'620'634'112);
}

}  // namespace
}  // namespace tangram
