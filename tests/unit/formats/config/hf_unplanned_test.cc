#include "formats/config/hf_unplanned.h"

#include <string>
#include <vector>

#include "formats/config/document.h"
#include "formats/config/hf_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::IsEmpty;

std::vector<UnplannedPart> PartsOf(const std::string& text) {
  const auto value = ParseConfigText(text, "f");
  const auto read = ReadHfModel(ConfigField(*value, "f"), "f");
  EXPECT_TRUE(read.ok()) << read.status();
  return read->unplanned;
}

TEST(HfUnplannedPartsTest, CountsWhatOpt350mHasDifferently) {
  const auto parts = PartsOf(R"({"model_type": "opt", "hidden_size": 1024,
      "num_hidden_layers": 24, "num_attention_heads": 16, "ffn_dim": 4096,
      "max_position_embeddings": 2048, "word_embed_proj_dim": 512,
      "vocab_size": 50272, "do_layer_norm_before": false})");
  ASSERT_EQ(parts.size(), 2u);
  // 50,272 rows narrower by 512, and two projections of 1,024 x 512.
  EXPECT_DOUBLE_EQ(parts[0].parameters, -50272.0 * 512 + 2.0 * 1024 * 512);
  EXPECT_DOUBLE_EQ(parts[1].parameters, -2048);  // No final norm.
}

TEST(HfUnplannedPartsTest, CountsSinksAndRouterBiases) {
  const auto parts = PartsOf(R"({"model_type": "gpt_oss", "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 8,
      "num_key_value_heads": 8, "intermediate_size": 64,
      "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 100})");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_DOUBLE_EQ(parts[0].parameters, 8);   // 2 layers, 4 experts.
  EXPECT_DOUBLE_EQ(parts[1].parameters, 16);  // 2 layers, 8 heads.
}

TEST(HfUnplannedPartsTest, FindsNothingInLlama) {
  EXPECT_THAT(PartsOf(R"({"model_type": "llama", "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 8,
      "intermediate_size": 64, "vocab_size": 100})"),
              IsEmpty());
}

}  // namespace
}  // namespace tangram
