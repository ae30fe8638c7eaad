#include "formats/config/layer_overrides.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "formats/config/model_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<ModelSpec> With(const std::string& overrides) {
  return ParseModel(
      absl::StrCat("{layers: 4, hidden_size: 64, heads: 8, vocab_size: 9, "
                   "ffn_hidden_size: 128, overrides: ",
                   overrides, "}"),
      "f");
}

TEST(LayerOverridesTest, ChangesTheLayersThatAreNamed) {
  ASSERT_OK_AND_ASSIGN(
      const ModelSpec model,
      With("[{layers: \"0,2-3\", sliding_window: 7}, "
           "{layers: 2, kv_heads: 2, "
           "experts: {count: 4, per_token: 2, ffn_hidden_size: 16}}]"));
  EXPECT_EQ(model.layers[1].sliding_window, 7);
  EXPECT_EQ(model.layers[2].sliding_window, 0);
  const LayerSpec& both = model.layers[3];
  EXPECT_EQ(both.sliding_window, 7);
  EXPECT_EQ(both.num_kv_heads, 2);
  EXPECT_EQ(both.num_experts, 4);
  EXPECT_EQ(both.ffn_hidden_size, 0);
  EXPECT_EQ(model.layers[4].num_kv_heads, 8);
}

TEST(LayerOverridesTest, NamesWhatIsWrong) {
  const struct {
    std::string overrides;
    std::string message;
  } cases[] = {
      {"[{heads: 4}]", "overrides[0].layers: missing"},
      {"[{layers: \"3-4\"}]", "layers and ranges of 0 to 3"},
      {"[{layers: \"2-1\"}]", "layers and ranges of 0 to 3"},
      {"[{layers: \"x\"}]", "layers and ranges of 0 to 3"},
      {"[{layers: 0, head: 4}]", "head"},
      {"[{layers: 0, kv_heads: 3}]", "a divisor of num_heads"},
      {"[{layers: 0, experts: {count: 2}}]", "experts_per_token"},
      {"[{layers: 0, experts: {count: 2, first_layer: 1}}]", "first_layer"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(With(c.overrides), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr(c.message)))
        << c.overrides;
  }
}

}  // namespace
}  // namespace tangram
