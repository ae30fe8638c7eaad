#include "formats/config/model_yaml.h"

#include <string>

#include "formats/catalogue/models.h"
#include "formats/config/model_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ModelToYamlTest, ReadsBackAsTheSameModel) {
  for (const std::string& name : BuiltinModelNames()) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const ModelSpec model, BuiltinModel(name));
    ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(model));
    ASSERT_OK_AND_ASSIGN(const ModelSpec read, ParseModel(yaml, "f"));
    EXPECT_EQ(read.name, model.name);
    EXPECT_EQ(read.layers, model.layers);
  }
}

TEST(ModelToYamlTest, KeepsTheTypeOfTheWeightsAndDropout) {
  ASSERT_OK_AND_ASSIGN(ModelSpec model, BuiltinModel("llama2-7b"));
  model.details = {
      .attention_dropout = 0, .hidden_dropout = 0.25, .dtype = "bfloat16"};
  ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(model));
  ASSERT_OK_AND_ASSIGN(const ModelSpec read, ParseModel(yaml, "f"));
  EXPECT_EQ(read.details, model.details);

  model.details.dtype = "float8_e4m3fn";  // No type to train in.
  ASSERT_OK_AND_ASSIGN(const std::string without, ModelToYaml(model));
  EXPECT_THAT(without, ::testing::Not(HasSubstr("dtype")));
}

TEST(ModelToYamlTest, KeepsTheCapacityOfExperts) {
  ASSERT_OK_AND_ASSIGN(ModelSpec model, BuiltinModel("mixtral-8x7b"));
  for (LayerSpec& layer : model.layers) {
    if (!layer.is_moe()) continue;
    layer.expert_capacity_factor = 1.25;
    layer.expert_group_tokens = 2048;
  }
  ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(model));
  ASSERT_OK_AND_ASSIGN(const ModelSpec read, ParseModel(yaml, "f"));
  EXPECT_EQ(read.layers, model.layers);
}

TEST(ModelToYamlTest, TellsWhichLayersHaveAWindow) {
  ASSERT_OK_AND_ASSIGN(ModelSpec model, BuiltinModel("llama2-7b"));
  for (int i = 2; i < model.num_layers() - 1; i += 2) {
    model.layers[i].sliding_window = 128;
  }
  ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(model));
  EXPECT_THAT(yaml, HasSubstr("sliding_window: {tokens: 128, first_layer: 1, "
                              "every: 2}\n"));
}

TEST(ModelToYamlTest, WritesLayersWithoutAPatternAsOverrides) {
  ASSERT_OK_AND_ASSIGN(ModelSpec model, BuiltinModel("llama2-7b"));
  model.layers[3].ffn_hidden_size *= 2;
  for (const int i : {1, 2, 8}) {
    model.layers[i].num_kv_heads = 8;
    model.layers[i].value_head_dim = 64;
  }
  LayerSpec& moe = model.layers[6];
  moe.ffn_hidden_size = 0;
  moe.num_experts = 4;
  moe.experts_per_token = 2;
  moe.expert_ffn_hidden_size = 100;
  ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(model));
  EXPECT_THAT(yaml, HasSubstr("  - {layers: \"0-1,7\", kv_heads: 8, "
                              "value_head_dim: 64}\n"
                              "  - {layers: \"2\", ffn_hidden_size: 22016}\n"
                              "  - {layers: \"5\", experts: {count: 4, "));
  ASSERT_OK_AND_ASSIGN(const ModelSpec read, ParseModel(yaml, "f"));
  EXPECT_EQ(read.layers, model.layers);
}

TEST(ModelToYamlTest, WritesDenseLayersBetweenMixtures) {
  ASSERT_OK_AND_ASSIGN(ModelSpec model, BuiltinModel("mixtral-8x7b"));
  for (const int i : {1, 4, 5}) {
    model.layers[i] = {.hidden_size = 4096,
                       .num_heads = 32,
                       .num_kv_heads = 8,
                       .head_dim = 128,
                       .value_head_dim = 128,
                       .ffn_hidden_size = 999,
                       .gated_mlp = true};
  }
  ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(model));
  ASSERT_OK_AND_ASSIGN(const ModelSpec read, ParseModel(yaml, "f"));
  EXPECT_EQ(read.layers, model.layers);
}

// An override without the key keeps the width of the model's experts.
TEST(ModelToYamlTest, WritesTheWidthOfExpertsWhereItIsNotTheLayers) {
  ASSERT_OK_AND_ASSIGN(ModelSpec model, BuiltinModel("mixtral-8x7b"));
  for (size_t l = 1; l + 1 < model.layers.size(); ++l) {
    model.layers[l].expert_latent_size = 1024;
  }
  model.layers[3].expert_latent_size = 512;
  model.layers[7].expert_latent_size = 0;
  ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(model));
  EXPECT_THAT(yaml, HasSubstr("latent_size: 1024"));
  EXPECT_THAT(yaml, HasSubstr("latent_size: 0"));
  ASSERT_OK_AND_ASSIGN(const ModelSpec read, ParseModel(yaml, "f"));
  EXPECT_EQ(read.layers, model.layers);
}

TEST(ModelToYamlTest, RefusesLayersThatDifferInTheirNorms) {
  ASSERT_OK_AND_ASSIGN(ModelSpec model, BuiltinModel("llama2-7b"));
  model.layers[3].norm_bias = true;
  EXPECT_THAT(ModelToYaml(model),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("differ in what a model file cannot tell")));
}

}  // namespace
}  // namespace tangram
