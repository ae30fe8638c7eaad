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

TEST(ModelToYamlTest, RefusesLayersWithoutAPattern) {
  ASSERT_OK_AND_ASSIGN(ModelSpec model, BuiltinModel("llama2-7b"));
  model.layers[3].ffn_hidden_size *= 2;
  EXPECT_THAT(ModelToYaml(model),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("its layers follow no pattern")));
}

}  // namespace
}  // namespace tangram
