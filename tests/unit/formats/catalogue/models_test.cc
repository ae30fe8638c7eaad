#include "formats/catalogue/models.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct TotalCase {
  std::string name;
  double parameters = 0;
  int num_layers = 0;  // Includes embedding and head.
};

class BuiltinTotalTest : public ::testing::TestWithParam<TotalCase> {};

TEST_P(BuiltinTotalTest, HasThePublishedNumberOfParameters) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, BuiltinModel(GetParam().name));
  EXPECT_EQ(model.name, GetParam().name);
  EXPECT_EQ(model.num_layers(), GetParam().num_layers);
  EXPECT_DOUBLE_EQ(ParameterCount(model), GetParam().parameters);
}

// GPT-3: layers · (12h² + 13h) + (51,200 + 2,048)·h + 2h.
//   h = 2,048: 24 · 50,358,272 + 109,051,904 + 4,096
// GShard, h = 1,024: attention with norms 4h² + 8h = 4,202,496, one MLP
//   16h² + 9h = 16,786,432, so 8 · (4,202,496 + 16,786,432) dense and
//   8 · (4,202,496 + 16 · 16,786,432 + 16h) with experts, and
//   (32,000 + 1,024)·h + 2h outside.
// The other cases are the sizes of the published checkpoints. DeepSeek-V3 is
// without its 58 · 256 routing biases, which gradients do not train. gpt-oss is
// without a bias for each expert's routing and a sink for each head.
INSTANTIATE_TEST_SUITE_P(
    Models, BuiltinTotalTest,
    ::testing::Values(TotalCase{"gpt3-1.3b", 1'317'654'528, 26},
                      TotalCase{"gpt3-6.7b", 6'662'266'880, 34},
                      TotalCase{"gpt3-13b", 12'858'214'400, 42},
                      TotalCase{"gpt3-175b", 174'615'846'912, 98},
                      TotalCase{"gshard-moe-2.4b", 2'384'144'384, 18},
                      TotalCase{"gshard-moe-7.1b", 7'071'265'280, 18},
                      TotalCase{"gshard-moe-10b", 10'171'628'544, 18},
                      TotalCase{"mixtral-8x7b", 46'702'792'704, 34},
                      TotalCase{"qwen3-30b-a3b", 30'532'122'624, 50},
                      TotalCase{"llama3-8b", 8'030'261'248, 34},
                      TotalCase{"llama3-70b", 70'553'706'496, 82},
                      TotalCase{"llama3-405b", 405'853'388'800, 128},
                      TotalCase{"deepseek-v3", 671'026'404'352, 63},
                      TotalCase{"llama2-7b", 6'738'415'616, 34},
                      TotalCase{"llama2-13b", 13'015'864'320, 42},
                      TotalCase{"llama2-70b", 68'976'648'192, 82},
                      TotalCase{"qwen3-235b-a22b", 235'093'634'560, 96},
                      TotalCase{"gpt-oss-20b", 20'914'754'880, 26},
                      TotalCase{"gpt-oss-120b", 116'829'149'760, 38}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::replace(name.begin(), name.end(), '.', 'p');
      name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
      return name;
    });

TEST(BuiltinModelTest, ListsEveryModelOnceSorted) {
  const std::vector<std::string> names = BuiltinModelNames();
  EXPECT_EQ(names.size(), 22);
  EXPECT_EQ(names.front(), "deepseek-v3");
  EXPECT_EQ(names.back(), "qwen3-30b-a3b");
  for (const std::string& name : names) EXPECT_THAT(BuiltinModel(name), IsOk());
}

TEST(BuiltinModelTest, IgnoresCase) {
  EXPECT_THAT(BuiltinModel("Mixtral-8x7B"), IsOk());
}

TEST(BuiltinModelTest, NamesTheKnownModelsWhenUnknown) {
  EXPECT_THAT(BuiltinModel("gpt5"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("gpt5"), HasSubstr("gpt3-6.7b"))));
}

TEST(BuiltinModelTest, GshardHasExpertsInEverySecondLayerFromTheFirst) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, BuiltinModel("gshard-moe-2.4b"));
  std::vector<bool> moe;
  for (const LayerSpec& layer : model.layers) moe.push_back(layer.is_moe());
  EXPECT_THAT(std::vector<bool>(moe.begin(), moe.begin() + 5),
              ElementsAre(false, true, false, true, false));
  EXPECT_EQ(std::count(moe.begin(), moe.end(), true), 8);
}

TEST(BuiltinModelTest, DeepseekBeginsWithThreeDenseLayers) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, BuiltinModel("deepseek-v3"));
  EXPECT_FALSE(model.layers[3].is_moe());
  EXPECT_TRUE(model.layers[4].is_moe());
  EXPECT_EQ(model.layers[4].shared_expert_ffn_hidden_size, 2048);
}

TEST(BuiltinModelTest, KnowsSequenceLengths) {
  EXPECT_EQ(BuiltinSequenceLength("GPT3-13b"), 2048);
  EXPECT_EQ(BuiltinSequenceLength("gshard-moe-10b"), 1024);
  EXPECT_EQ(BuiltinSequenceLength("mixtral-8x7b"), 4096);
  EXPECT_EQ(BuiltinSequenceLength("gpt5"), std::nullopt);
}

}  // namespace
}  // namespace tangram
