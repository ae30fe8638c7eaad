#include "formats/config/mixer_fields.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "formats/config/model_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

constexpr absl::string_view kHybrid = R"(
layers: 4
hidden_size: 64
mixer: mamba
mamba: {inner_size: 128, head_dim: 16, groups: 2, state_size: 8}
heads: 8
kv_heads: 2
ffn_hidden_size: 256
vocab_size: 1000
overrides:
  - {layers: 1, mixer: attention}
  - {layers: 2, mlp: false}
  - {layers: 3, mixer: none, experts: {count: 4, per_token: 2,
     ffn_hidden_size: 32}}
)";

TEST(MixerFieldsTest, LayersGetTheMixersAndPartsOfTheFile) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ParseModel(kHybrid, "f"));
  const LayerSpec mamba = {.hidden_size = 64,
                           .mixer = MixerKind::kMamba2,
                           .mamba = {.inner_size = 128,
                                     .head_dim = 16,
                                     .groups = 2,
                                     .state_size = 8,
                                     .conv_kernel = 4},
                           .ffn_hidden_size = 256};
  EXPECT_EQ(model.layers[1], mamba);
  EXPECT_EQ(model.layers[2], (LayerSpec{.hidden_size = 64,
                                        .num_heads = 8,
                                        .num_kv_heads = 2,
                                        .head_dim = 8,
                                        .value_head_dim = 8,
                                        .ffn_hidden_size = 256}));
  LayerSpec alone = mamba;
  alone.no_mlp = true;
  alone.ffn_hidden_size = 0;
  EXPECT_EQ(model.layers[3], alone);
  EXPECT_EQ(model.layers[4], (LayerSpec{.hidden_size = 64,
                                        .mixer = MixerKind::kNone,
                                        .num_experts = 4,
                                        .experts_per_token = 2,
                                        .expert_ffn_hidden_size = 32}));
}

TEST(MixerFieldsTest, ALayerWithoutAnMlpMayGetOne) {
  const std::string file = absl::StrReplaceAll(
      kHybrid,
      {{"mixer: mamba\n", "mixer: mamba\nmlp: false\n"},
       {"{layers: 2, mlp: false}", "{layers: 2, ffn_hidden_size: 32}"}});
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ParseModel(file, "f"));
  EXPECT_TRUE(model.layers[1].no_mlp);
  EXPECT_TRUE(model.layers[2].no_mlp);  // Attention alone.
  EXPECT_FALSE(model.layers[3].no_mlp);
  EXPECT_EQ(model.layers[3].ffn_hidden_size, 32);
  EXPECT_FALSE(model.layers[4].no_mlp);
}

TEST(MixerFieldsTest, NamesWhatIsWrong) {
  const struct {
    absl::string_view from;
    absl::string_view to;
    absl::string_view message;
  } cases[] = {
      {"mixer: mamba\n", "mixer: rwkv\n", "mixer: rwkv; expected attention"},
      {"mamba: {inner", "mamba: {version: 3, inner", "mamba.version: 3"},
      {"head_dim: 16, ", "head_dim: 48, ", "mamba.inner_size: 128; expected a"},
      {"groups: 2", "groups: 3",
       "mamba.groups: 3; expected a divisor of the 8"},
      {"mamba: {inner", "mamba: {version: 1, inner", "head_dim"},
      {"heads: 8\nkv_heads: 2\n", "", "num_heads: 0"},
      {"{layers: 2, mlp: false}", "{layers: 3, mixer: none, mlp: false}",
       "no_mlp"},
  };
  for (const auto& c : cases) {
    const std::string file = absl::StrReplaceAll(kHybrid, {{c.from, c.to}});
    EXPECT_THAT(
        ParseModel(file, "f"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)))
        << c.to;
  }
  EXPECT_THAT(
      ParseModel("{layers: 1, hidden_size: 8, mixer: mamba, vocab_size: 9}",
                 "f"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the file has no field mamba")));
}

}  // namespace
}  // namespace tangram
