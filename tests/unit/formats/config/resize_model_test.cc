#include "formats/config/resize_model.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/catalogue/assemble_model.h"
#include "formats/catalogue/models.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;

// Makes one transformer layer for each character; equal characters make equal
// layers.
ModelSpec ModelOf(absl::string_view pattern) {
  std::vector<LayerSpec> layers;
  for (const char c : pattern) {
    layers.push_back({.hidden_size = 64, .ffn_hidden_size = c});
  }
  return AssembleModel("m", {.size = 10}, layers);
}

std::string PatternOf(const ModelSpec& model) {
  std::string pattern;
  for (int i = 1; i + 1 < model.num_layers(); ++i) {
    pattern.push_back(static_cast<char>(model.layers[i].ffn_hidden_size));
  }
  return pattern;
}

TEST(ResizeModelTest, GoesOnInThePattern) {
  struct Case {
    std::string pattern;
    int num_layers;
    std::string resized;
  };
  const Case cases[] = {
      {"aaaa", 6, "aaaaaa"},
      {"abab", 7, "abababa"},
      {"dddmmmmm", 10, "dddmmmmmmm"},
      {"aaaaagaaaaagaa", 18, "aaaaagaaaaagaaaaag"},
      {"abc", 5, "abcab"},
      {"a", 3, "aaa"},
      {"abab", 3, "aba"},
      {"dddmmmmm", 2, "dd"},
      {"abab", 4, "abab"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.pattern);
    ASSERT_OK_AND_ASSIGN(const ModelSpec resized,
                         ResizeModel(ModelOf(c.pattern), c.num_layers));
    EXPECT_EQ(PatternOf(resized), c.resized);
    EXPECT_EQ(resized.layers.front().kind, LayerKind::kEmbedding);
    EXPECT_EQ(resized.layers.back().kind, LayerKind::kHead);
  }
}

TEST(ResizeModelTest, SaysTheNumberOfLayersInTheName) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, BuiltinModel("gshard-moe-2.4b"));
  ASSERT_OK_AND_ASSIGN(const ModelSpec longer, ResizeModel(model, 20));
  EXPECT_EQ(longer.name, "gshard-moe-2.4b (20 layers)");
  ASSERT_OK_AND_ASSIGN(const ModelSpec same, ResizeModel(model, 16));
  EXPECT_EQ(same.name, "gshard-moe-2.4b");
}

TEST(ResizeModelTest, KeepsTheDetails) {
  ModelSpec model = ModelOf("aa");
  model.details.rope_theta = 1e6;
  ASSERT_OK_AND_ASSIGN(const ModelSpec longer, ResizeModel(model, 3));
  EXPECT_EQ(longer.details, model.details);
}

TEST(ResizeModelTest, ChecksTheNumber) {
  for (const int num_layers : {0, -1, 16'383}) {
    EXPECT_THAT(
        ResizeModel(ModelOf("a"), num_layers),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 absl::StrCat("num_layers: ", num_layers,
                              "; expected a positive integer, at most 16382")));
  }
}

}  // namespace
}  // namespace tangram
