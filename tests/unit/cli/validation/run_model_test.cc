#include "cli/validation/run_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/measured_runs.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::GptRun;
using ::testing::HasSubstr;
using testing::kCannot;
using ::testing::SizeIs;
using testing::StatusIs;

TEST(ModelOfRunTest, GptIsMadeOfItsDimensions) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ModelOfRun(GptRun()));

  EXPECT_EQ(model.name, "GPT");
  ASSERT_THAT(model.layers, SizeIs(10));  // Embedding, 8, head.
  const LayerSpec want = {.kind = LayerKind::kTransformer,
                          .hidden_size = 1024,
                          .num_heads = 16,
                          .num_kv_heads = 16,
                          .head_dim = 64,
                          .value_head_dim = 64,
                          .ffn_hidden_size = 4096,
                          .linear_bias = true,
                          .norm_bias = true};
  EXPECT_EQ(model.layers[1], want);
  EXPECT_EQ(model.layers[8], want);
  EXPECT_EQ(model.layers[0].vocab_size, 51200);
  EXPECT_EQ(model.layers[0].max_position_embeddings, 1024);
  EXPECT_TRUE(model.layers[9].tied_embeddings);
}

TEST(ModelOfRunTest, WhatARowLeavesUnsaidIsTheUsual) {
  MeasuredRun run = GptRun();
  run.num_heads = 0;
  run.vocab_size = 0;
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ModelOfRun(run));

  EXPECT_EQ(model.layers[1].num_heads, 16);  // 1024 / 64.
  EXPECT_EQ(model.layers[0].vocab_size, 51200);
}

TEST(ModelOfRunTest, LlamaIsGatedAndHasNoBiases) {
  MeasuredRun run = GptRun();
  run.model = "Llama3-8B";
  run.num_kv_heads = 4;
  run.ffn_hidden_size = 3584;
  run.vocab_size = 128256;
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ModelOfRun(run));

  const LayerSpec want = {.kind = LayerKind::kTransformer,
                          .hidden_size = 1024,
                          .num_heads = 16,
                          .num_kv_heads = 4,
                          .head_dim = 64,
                          .value_head_dim = 64,
                          .ffn_hidden_size = 3584,
                          .gated_mlp = true};
  EXPECT_EQ(model.layers[1], want);
  EXPECT_EQ(model.layers[0].vocab_size, 128256);
  EXPECT_EQ(model.layers[0].max_position_embeddings, 0);
  EXPECT_FALSE(model.layers[9].tied_embeddings);
}

TEST(ModelOfRunTest, SharedHeadsDoNotMakeAnMlpGated) {
  MeasuredRun run = GptRun();
  run.model = "Nemotron-4 15B";
  run.num_kv_heads = 4;
  run.ffn_hidden_size = 3584;
  EXPECT_FALSE(ModelOfRun(run)->layers[1].gated_mlp);
  run.model = "Falcon 40B";
  EXPECT_TRUE(ModelOfRun(run)->layers[1].gated_mlp);
  run.ffn_hidden_size = 4096;  // 4 h.
  EXPECT_FALSE(ModelOfRun(run)->layers[1].gated_mlp);
  // Both have rotary positions and no biases.
  EXPECT_EQ(ModelOfRun(run)->layers[0].max_position_embeddings, 0);
  EXPECT_FALSE(ModelOfRun(run)->layers[1].linear_bias);
  run.model = "Llama3-1B";
  EXPECT_TRUE(ModelOfRun(run)->layers[1].gated_mlp);
}

TEST(ModelOfRunTest, NotesMayTellThatTheMlpIsGated) {
  MeasuredRun run = GptRun();
  run.notes = "SwiGLU and rotary positions";
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ModelOfRun(run));

  EXPECT_TRUE(model.layers[1].gated_mlp);
}

TEST(ModelOfRunTest, ExpertsTakeTheMlpsWidth) {
  MeasuredRun run = GptRun();
  run.model = "GShard MoE";
  run.num_experts = 16;
  run.experts_per_token = 2;
  run.ffn_hidden_size = 2048;
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ModelOfRun(run));

  const LayerSpec& layer = model.layers[1];
  EXPECT_EQ(layer.num_experts, 16);
  EXPECT_EQ(layer.experts_per_token, 2);
  EXPECT_EQ(layer.expert_ffn_hidden_size, 2048);
  EXPECT_EQ(layer.ffn_hidden_size, 0);
}

TEST(ModelOfRunTest, ExpertsNeedTheirWidthAndNumberAToken) {
  MeasuredRun run = GptRun();
  run.num_experts = 16;
  run.ffn_hidden_size = 2048;
  EXPECT_THAT(ModelOfRun(run), StatusIs(kCannot, HasSubstr("experts: ")));
  run.experts_per_token = 2;
  run.ffn_hidden_size = 0;
  EXPECT_THAT(ModelOfRun(run), StatusIs(kCannot, HasSubstr("experts: ")));
}

TEST(ModelOfRunTest, APublicMixtureOfExpertsIsTakenWholeByItsName) {
  MeasuredRun run = GptRun();
  run.model = "DeepSeekV3 (w/ MTP)";
  run.num_experts = 256;
  run.num_layers = 61;
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ModelOfRun(run));

  EXPECT_THAT(model.layers, SizeIs(63));
  EXPECT_GT(model.layers[1].kv_lora_rank, 0);
}

TEST(ModelOfRunTest, ModelsWithoutDimensionsAreFoundByName) {
  struct Case {
    const char* model;
    const char* name;
  };
  for (const Case& known :
       {Case{"LLAMA3.1_405B", "llama3-405b"},
        Case{"Llama 3 405B", "llama3-405b"},
        Case{"GPT OSS 120B", "gpt-oss-120b"}, Case{"LLAMA2-7B", "llama2-7b"},
        Case{"GPT3 6.7B", "gpt3-6.7b"}, Case{"Nemotron-340B", "nemotron4-340b"},
        Case{"DeepSeekV3 (tokendrop)", "deepseek-v3"},
        Case{"Qwen3_30B_a3B", "qwen3-30b-a3b"}}) {
    SCOPED_TRACE(known.model);
    ASSERT_OK_AND_ASSIGN(const ModelSpec model,
                         ModelOfRun({.model = known.model}));
    EXPECT_EQ(model.name, known.name);
  }
}

TEST(ModelOfRunTest, UnknownNamesNeedDimensions) {
  EXPECT_THAT(ModelOfRun({.model = "Hermes 9B"}),
              StatusIs(kCannot,
                       "model: Hermes 9B; dimensions not given and "
                       "not a built-in model"));
}

TEST(ModelOfRunTest, OnlyDecodersCanBeExpressed) {
  for (const char* name : {"BERT-large", "T5 11B", "TransGAN", "ViT-22B"}) {
    MeasuredRun run = GptRun();
    run.model = name;
    EXPECT_THAT(ModelOfRun(run),
                StatusIs(kCannot, HasSubstr("not a decoder-only model")))
        << name;
  }
}

TEST(ModelOfRunTest, HeadsDivideTheWidth) {
  MeasuredRun run = GptRun();
  run.num_heads = 15;
  EXPECT_THAT(ModelOfRun(run),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "heads: 15; expected a divisor of 1024"));
}

}  // namespace
}  // namespace tangram
