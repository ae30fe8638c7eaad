// Hybrid models: totals of public checkpoints, whose files here have only the
// fields on which the layers depend.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/config/document.h"
#include "formats/config/hf_config.h"
#include "formats/config/model_file.h"
#include "formats/config/model_yaml.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

absl::StatusOr<HfModel> ReadHybrid(const std::string& text) {
  const auto value = ParseConfigText(text, "f");
  EXPECT_TRUE(value.ok()) << value.status();
  return ReadHfModel(ConfigField(*value, "f"), "f");
}

// Writes each transformer layer: its mixer, M, 2 or *, and its MLP, - or E.
std::string Letters(const ModelSpec& model) {
  std::string letters;
  for (const LayerSpec& layer : model.layers) {
    if (layer.kind != LayerKind::kTransformer) continue;
    if (layer.mixer == MixerKind::kMamba) letters += 'M';
    if (layer.mixer == MixerKind::kMamba2) letters += '2';
    if (layer.mixer == MixerKind::kAttention) letters += '*';
    if (!layer.no_mlp) letters += layer.is_moe() ? 'E' : '-';
  }
  return letters;
}

struct HybridCheckpoint {
  std::string name;
  std::string config;
  double parameters = 0;
};

class HfHybridTest : public ::testing::TestWithParam<HybridCheckpoint> {};

TEST_P(HfHybridTest, HasThePublishedParameters) {
  ASSERT_OK_AND_ASSIGN(const HfModel read, ReadHybrid(GetParam().config));
  EXPECT_DOUBLE_EQ(ParameterCount(read.model), GetParam().parameters);
}

TEST_P(HfHybridTest, IsWrittenAsAModelFile) {
  ASSERT_OK_AND_ASSIGN(const HfModel read, ReadHybrid(GetParam().config));
  ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(read.model));
  ASSERT_OK_AND_ASSIGN(const ModelSpec again, ParseModel(yaml, "f"));
  EXPECT_EQ(again.layers, read.model.layers) << yaml;
  EXPECT_EQ(again.details.no_positions, read.model.details.no_positions);
}

std::string Jamba(int hidden, int layers, int ffn, int heads, int rank) {
  return absl::StrCat(R"({"model_type": "jamba", "hidden_size": )", hidden,
                      R"(, "num_hidden_layers": )", layers,
                      R"(, "intermediate_size": )", ffn,
                      R"(, "num_attention_heads": )", heads,
                      R"(, "num_key_value_heads": 8, "attn_layer_offset": 4,
      "attn_layer_period": 8, "expert_layer_offset": 1,
      "expert_layer_period": 2, "num_experts": 16, "num_experts_per_tok": 2,
      "mamba_conv_bias": true, "mamba_d_conv": 4, "mamba_d_state": 16,
      "mamba_dt_rank": )",
                      rank, R"(, "mamba_expand": 2, "mamba_proj_bias": false,
      "sliding_window": null, "tie_word_embeddings": false,
      "vocab_size": 65536})");
}

std::string NemotronH(const std::string& sizes, const std::string& pattern) {
  return absl::StrCat(R"({"model_type": "nemotron_h", "n_groups": 8,
      "conv_kernel": 4, "expand": 2, "use_bias": false, "mlp_bias": false,
      "use_conv_bias": true, "attention_bias": false,
      "tie_word_embeddings": false, "vocab_size": 131072,
      "num_hidden_layers": )",
                      pattern.size(), R"(, "hybrid_override_pattern": ")",
                      pattern, R"(", )", sizes, "}");
}

INSTANTIATE_TEST_SUITE_P(
    Published, HfHybridTest,
    ::testing::Values(
        HybridCheckpoint{"Jamba", Jamba(4096, 32, 14336, 32, 256),
                         51'570'323'328},
        HybridCheckpoint{"JambaLarge", Jamba(8192, 72, 24576, 64, 512),
                         398'555'145'696},
        HybridCheckpoint{
            "NemotronH8b",
            NemotronH(R"("hidden_size": 4096, "intermediate_size": 21504,
                "num_attention_heads": 32, "num_key_value_heads": 8,
                "attention_head_dim": 128, "mamba_num_heads": 128,
                "mamba_head_dim": 64, "ssm_state_size": 128)",
                      "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"),
            8'100'852'736},
        HybridCheckpoint{
            "NemotronH47b",
            NemotronH(R"("hidden_size": 8192, "intermediate_size": 30720,
                "num_attention_heads": 64, "num_key_value_heads": 8,
                "attention_head_dim": 128, "mamba_num_heads": 256,
                "mamba_head_dim": 64, "ssm_state_size": 256)",
                      "M-M-M-M-M-M-M-M-M*-M-M-M-M-M-M-M-M-M-M*-M-M-M-M-M*-M-M-"
                      "M-M-M*-M-M-M-M-M-M-M---MM---M-M*-M-M-M-M-M-"),
            46'791'554'816},
        HybridCheckpoint{
            "NemotronH56b",
            NemotronH(R"("hidden_size": 8192, "intermediate_size": 32768,
                "num_attention_heads": 64, "num_key_value_heads": 8,
                "attention_head_dim": 128, "mamba_num_heads": 256,
                "mamba_head_dim": 64, "ssm_state_size": 256)",
                      "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-"
                      "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-"
                      "M-M-M-M-"),
            56'324'350'464},
        HybridCheckpoint{
            "NemotronNano9bV2",
            NemotronH(R"("hidden_size": 4480, "intermediate_size": 15680,
                "num_attention_heads": 40, "num_key_value_heads": 8,
                "head_dim": 128, "mamba_num_heads": 128,
                "mamba_head_dim": 80, "ssm_state_size": 128)",
                      "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-"
                      "M-"),
            8'888'227'328},
        HybridCheckpoint{
            "Nemotron3Nano",
            NemotronH(R"("hidden_size": 2688, "intermediate_size": 1856,
                "num_attention_heads": 32, "num_key_value_heads": 2,
                "head_dim": 128, "mamba_num_heads": 64, "mamba_head_dim": 64,
                "ssm_state_size": 128, "n_routed_experts": 128,
                "n_shared_experts": 1, "num_experts_per_tok": 6,
                "moe_intermediate_size": 1856,
                "moe_shared_expert_intermediate_size": 3712)",
                      "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"),
            31'577'937'344},
        HybridCheckpoint{
            "Nemotron3Super",
            NemotronH(R"("hidden_size": 4096, "intermediate_size": 2688,
                "num_attention_heads": 32, "num_key_value_heads": 2,
                "head_dim": 128, "mamba_num_heads": 128, "mamba_head_dim": 64,
                "ssm_state_size": 128, "n_routed_experts": 512,
                "n_shared_experts": 1, "num_experts_per_tok": 22,
                "moe_intermediate_size": 2688, "moe_latent_size": 1024,
                "moe_shared_expert_intermediate_size": 5376,
                "num_nextn_predict_layers": 1,
                "mtp_hybrid_override_pattern": "*E",
                "time_step_limit": [0.0, Infinity])",
                      "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EM"
                      "EMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"),
            120'668'687'360},
        HybridCheckpoint{
            "Nemotron3Ultra",
            NemotronH(R"("hidden_size": 8192, "intermediate_size": 5120,
                "num_attention_heads": 64, "num_key_value_heads": 2,
                "head_dim": 128, "mamba_num_heads": 256, "mamba_head_dim": 64,
                "ssm_state_size": 128, "n_routed_experts": 512,
                "n_shared_experts": 1, "num_experts_per_tok": 22,
                "moe_intermediate_size": 5120, "moe_latent_size": 2048,
                "moe_shared_expert_intermediate_size": 10240,
                "time_step_limit": [0.0, 1e308])",
                      "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*E"
                      "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*E"
                      "MEMEMEME"),
            549'308'968'960},
        HybridCheckpoint{"Bamba9b", R"({"model_type": "bamba",
            "hidden_size": 4096, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8,
            "intermediate_size": 14336, "attn_layer_indices": [9, 18, 27],
            "mamba_n_heads": 128, "mamba_d_head": "auto", "mamba_n_groups": 1,
            "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_expand": 2,
            "tie_word_embeddings": false, "vocab_size": 128256})",
                         9'780'235'392},
        HybridCheckpoint{"Granite4Tiny", R"({"model_type": "granitemoehybrid",
            "hidden_size": 1536, "num_hidden_layers": 40,
            "num_attention_heads": 12, "num_key_value_heads": 4,
            "intermediate_size": 512, "shared_intermediate_size": 1024,
            "num_local_experts": 64, "num_experts_per_tok": 6,
            "layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba",
            "attention", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba",
            "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba",
            "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention",
            "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba",
            "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba"],
            "mamba_n_heads": 48, "mamba_d_head": 64, "mamba_n_groups": 1,
            "mamba_d_state": 128, "mamba_d_conv": 4, "mamba_expand": 2,
            "position_embedding_type": "nope", "tie_word_embeddings": true,
            "vocab_size": 100352})",
                         6'939'037'248},
        HybridCheckpoint{"Mamba2p8b", R"({"model_type": "mamba",
            "hidden_size": 2560, "num_hidden_layers": 64, "state_size": 16,
            "conv_kernel": 4, "intermediate_size": 5120,
            "time_step_rank": 160, "use_bias": false, "vocab_size": 50280})",
                         2'768'345'600},
        HybridCheckpoint{"FalconMamba7b", R"({"model_type": "falcon_mamba",
            "hidden_size": 4096, "num_hidden_layers": 64, "state_size": 16,
            "conv_kernel": 4, "intermediate_size": 8192,
            "time_step_rank": 256, "use_bias": false,
            "tie_word_embeddings": false, "vocab_size": 65024})",
                         7'272'665'088},
        HybridCheckpoint{"MambaCodestral7b", R"({"model_type": "mamba2",
            "hidden_size": 4096, "num_hidden_layers": 64, "state_size": 128,
            "conv_kernel": 4, "expand": 2, "num_heads": 128, "head_dim": 64,
            "n_groups": 8, "use_bias": false, "tie_word_embeddings": false,
            "vocab_size": 32768})",
                         7'285'403'648}),
    [](const auto& test) { return test.param.name; });

TEST(HfHybridModelTest, ReadsWhichLayersHaveAttentionAndExperts) {
  ASSERT_OK_AND_ASSIGN(const HfModel jamba,
                       ReadHybrid(Jamba(4096, 16, 14336, 32, 256)));
  EXPECT_EQ(Letters(jamba.model), "M-MEM-ME*-MEM-MEM-MEM-ME*-MEM-ME");
  EXPECT_TRUE(jamba.model.details.no_positions);
  ASSERT_OK_AND_ASSIGN(
      const HfModel nemotron,
      ReadHybrid(NemotronH(R"("hidden_size": 64, "intermediate_size": 128,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
          "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 8,
          "n_routed_experts": 4, "num_experts_per_tok": 2,
          "moe_intermediate_size": 32)",
                           "ME-*M")));
  EXPECT_EQ(Letters(nemotron.model), "2E-*2");
  EXPECT_EQ(nemotron.model.layers[1].mamba.inner_size, 128);
  EXPECT_FALSE(nemotron.model.layers[3].gated_mlp);
}

TEST(HfHybridModelTest, ReadsAListOfTypesInsteadOfAPattern) {
  ASSERT_OK_AND_ASSIGN(
      const HfModel read,
      ReadHybrid(R"({"model_type": "nemotron_h", "hidden_size": 64,
      "num_hidden_layers": 4, "intermediate_size": 128,
      "layers_block_type": ["mamba", "mlp", "attention", "moe"],
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
      "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 8,
      "n_groups": 2, "n_routed_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 32, "vocab_size": 100})"));
  EXPECT_EQ(Letters(read.model), "2-*E");
}

TEST(HfHybridModelTest, JambaWithOneExpertHasPlainMlps) {
  std::string config = Jamba(4096, 8, 14336, 32, 256);
  config.replace(config.find(R"("num_experts": 16)"), 17,
                 R"("num_experts": 1)");
  ASSERT_OK_AND_ASSIGN(const HfModel read, ReadHybrid(config));
  EXPECT_EQ(Letters(read.model), "M-M-M-M-*-M-M-M-");
}

TEST(HfHybridModelTest, NamesWhatIsWrong) {
  const std::string sizes = R"("hidden_size": 64, "intermediate_size": 128,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
      "mamba_num_heads": 12, "mamba_head_dim": 16, "ssm_state_size": 8)";
  EXPECT_THAT(ReadHybrid(NemotronH(sizes, "M*X")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("hybrid_override_pattern")));
  EXPECT_THAT(ReadHybrid(NemotronH(sizes, "M*-")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("n_groups: 8; expected a divisor of the 12")));
  EXPECT_THAT(ReadHybrid(NemotronH(sizes, "*E")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("n_routed_experts")));
  std::string biased = Jamba(4096, 8, 14336, 32, 256);
  biased.replace(biased.find(R"("mamba_proj_bias": false)"), 24,
                 R"("mamba_proj_bias": true)");
  EXPECT_THAT(ReadHybrid(biased), StatusIs(absl::StatusCode::kUnimplemented,
                                           HasSubstr("mamba_proj_bias")));
}

std::string Replaced(std::string text, const std::string& from,
                     const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

// transformers sets it for each Bamba; files do not say it.
TEST(HfHybridModelTest, BambaRotatesHalfOfAHead) {
  ASSERT_OK_AND_ASSIGN(const HfModel read,
                       ReadHybrid(R"({"model_type": "bamba", "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "intermediate_size": 128,
      "attn_layer_indices": [1], "mamba_n_heads": 8, "vocab_size": 100})"));
  EXPECT_EQ(read.model.details.rope_fraction, 0.5);
}

TEST(HfHybridModelTest, DoesNotGuessWhatWouldBeAnotherModel) {
  const std::string jamba = Jamba(4096, 8, 14336, 32, 256);
  const std::string nemotron = NemotronH(
      R"("hidden_size": 64, "intermediate_size": 128,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
      "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 8)",
      "M*-M");
  const std::string bamba = R"({"model_type": "bamba", "hidden_size": 64,
      "num_hidden_layers": 2, "num_attention_heads": 4,
      "num_key_value_heads": 2, "intermediate_size": 128,
      "attn_layer_indices": [1], "mamba_n_heads": 8, "mamba_d_head": 16,
      "mamba_expand": 2, "vocab_size": 100})";
  ASSERT_THAT(ReadHybrid(nemotron), testing::IsOk());
  ASSERT_THAT(ReadHybrid(bamba), testing::IsOk());
  for (const auto& [config, what] :
       std::vector<std::pair<std::string, std::string>>{
           {Replaced(jamba, R"("attn_layer_offset": 4)",
                     R"("attn_layer_offset": 8)"),
            "attn_layer_offset: 8; expected less than the period, 8"},
           {Replaced(jamba, R"("expert_layer_offset": 1)",
                     R"("expert_layer_offset": 2)"),
            "expert_layer_offset: 2; expected less than the period, 2"},
           {Replaced(jamba, R"("num_experts": 16, )", ""), "num_experts"},
           {Replaced(nemotron, R"(2, "head_dim": 16,)", "2,"), "head_dim"},
           {Replaced(nemotron, R"("n_groups": 8,)", ""), "n_groups"},
           {Replaced(nemotron, R"("mamba_num_heads": 8, )", ""),
            "mamba_num_heads"},
           {Replaced(nemotron, R"("M*-M")",
                     R"("M*-M", "layers_block_type":
                         ["mamba", "attention", "mlp", "mlp"])"),
            "expected the layers of hybrid_override_pattern"},
           {Replaced(bamba, R"("mamba_expand": 2)", R"("mamba_expand": 3)"),
            "mamba_n_heads: 8; expected as many heads of 16"}}) {
    EXPECT_THAT(ReadHybrid(config),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)))
        << config;
  }
}

TEST(HfHybridModelTest, SomeLayerMixesTokens) {
  const std::string mlps = NemotronH(
      R"("hidden_size": 64, "intermediate_size": 128,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
      "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 8)",
      "--");
  for (const std::string& text :
       {mlps, std::string("layers: 2\nhidden_size: 64\nmixer: none\n"
                          "ffn_hidden_size: 128\nvocab_size: 100\n")}) {
    EXPECT_THAT(ParseModel(text, "f"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("f: layers: none mixes tokens; expected "
                                   "attention or Mamba")));
  }
}

TEST(HfHybridModelTest, ReadsTheNewNamesOfTypesAndCountsThem) {
  ASSERT_OK_AND_ASSIGN(
      const HfModel read,
      ReadHybrid(R"({"model_type": "nemotron_h", "hidden_size": 64,
      "intermediate_size": 128, "layers_block_type": ["linear_attention",
      "mlp", "full_attention", "mlp"], "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 16, "mamba_num_heads": 8,
      "mamba_head_dim": 16, "n_groups": 2, "vocab_size": 100})"));
  EXPECT_EQ(Letters(read.model), "2-*-");
}

TEST(HfHybridModelTest, RefusesWhatSharesWeightsOrRunsSideBySide) {
  EXPECT_THAT(ReadHybrid(R"({"model_type": "zamba2", "hidden_size": 64})"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("share weights"),
                             HasSubstr("nearest family is bamba"))));
  EXPECT_THAT(
      ReadHybrid(R"({"model_type": "falcon_h1", "hidden_size": 64})"),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("side by side")));
}

TEST(HfHybridModelTest, ReadsTheWidthOfExperts) {
  for (const auto& [field, width] :
       {std::pair{R"("moe_latent_size": 24,)", 24},
        std::pair{R"("moe_latent_size": null,)", 0}, std::pair{"", 0}}) {
    ASSERT_OK_AND_ASSIGN(
        const HfModel read,
        ReadHybrid(absl::StrCat(R"({"model_type": "nemotron_h", )", field, R"(
        "layers_block_type": ["mamba", "moe", "attention", "moe"],
        "mtp_layers_block_type": ["attention", "moe"],
        "num_nextn_predict_layers": 1, "hidden_size": 64,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 8,
        "n_groups": 2, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, "vocab_size": 100})")));
    EXPECT_EQ(Letters(read.model), "2E*E");
    EXPECT_EQ(read.model.layers[2].expert_latent_size, width);
    EXPECT_EQ(read.model.layers[1].expert_latent_size, 0);
    ASSERT_OK_AND_ASSIGN(const std::string yaml, ModelToYaml(read.model));
    EXPECT_EQ(yaml.find("latent_size") != std::string::npos, width > 0) << yaml;
    ASSERT_OK_AND_ASSIGN(const ModelSpec again, ParseModel(yaml, "f"));
    EXPECT_EQ(again.layers, read.model.layers) << yaml;
  }
}

// Other families may place or norm such experts in another way.
TEST(HfHybridModelTest, RefusesExpertsOfAnotherWidthInOtherFamilies) {
  for (const char* const config :
       {R"({"model_type": "deepseek_v3", "moe_latent_size": 24})",
        R"({"model_type": "nemotron_h", "routed_expert_hidden_size": 24})"}) {
    EXPECT_THAT(ReadHybrid(config),
                StatusIs(absl::StatusCode::kUnimplemented,
                         AllOf(HasSubstr("experts of another width"),
                               HasSubstr("nearest family is nemotron_h"))));
  }
}

}  // namespace
}  // namespace tangram
