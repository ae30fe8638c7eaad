#include "formats/config/hf_config.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "formats/config/model_file.h"
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

struct HfCase {
  std::string name;
  std::string config;
  double parameters = 0;
};

class HfTotalTest : public ::testing::TestWithParam<HfCase> {};

TEST_P(HfTotalTest, EqualsTheCheckpoint) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model,
                       ParseModel(GetParam().config, "config.json"));
  EXPECT_DOUBLE_EQ(ParameterCount(model), GetParam().parameters);
}

// Fields and totals of published checkpoints. If a total differs from the
// published one, the comment says what is not counted.
INSTANTIATE_TEST_SUITE_P(
    Checkpoints, HfTotalTest,
    ::testing::Values(
        HfCase{"Gpt2", R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12,
            "n_head": 12, "n_positions": 1024, "n_inner": null,
            "vocab_size": 50257})",
               124'439'808},
        HfCase{"Opt", R"({"model_type": "opt", "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32,
            "ffn_dim": 16384, "max_position_embeddings": 2048,
            "word_embed_proj_dim": 4096, "do_layer_norm_before": true,
            "vocab_size": 50272})",
               6'658'473'984},
        HfCase{"GptNeox", R"({"model_type": "gpt_neox", "hidden_size": 6144,
            "num_hidden_layers": 44, "num_attention_heads": 64,
            "intermediate_size": 24576, "vocab_size": 50432,
            "tie_word_embeddings": false})",
               20'554'567'680},
        HfCase{"Llama2", R"({"model_type": "llama", "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32,
            "intermediate_size": 11008, "vocab_size": 32000,
            "rms_norm_eps": 1e-05, "rope_scaling": null})",
               6'738'415'616},
        HfCase{"Mistral", R"({"model_type": "mistral", "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8, "intermediate_size": 14336,
            "sliding_window": 4096, "vocab_size": 32000})",
               7'241'732'096},
        HfCase{"Gemma", R"({"model_type": "gemma", "hidden_size": 2048,
            "num_hidden_layers": 18, "num_attention_heads": 8,
            "num_key_value_heads": 1, "head_dim": 256,
            "intermediate_size": 16384, "vocab_size": 256000})",
               2'506'172'416},
        HfCase{"Qwen2", R"({"model_type": "qwen2", "hidden_size": 3584,
            "num_hidden_layers": 28, "num_attention_heads": 28,
            "num_key_value_heads": 4, "intermediate_size": 18944,
            "vocab_size": 152064})",
               7'615'616'512},
        HfCase{"Qwen3", R"({"model_type": "qwen3", "hidden_size": 4096,
            "num_hidden_layers": 36, "num_attention_heads": 32,
            "num_key_value_heads": 8, "head_dim": 128,
            "intermediate_size": 12288, "attention_bias": false,
            "vocab_size": 151936})",
               8'190'735'360},
        HfCase{"Mixtral", R"({"model_type": "mixtral", "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8, "intermediate_size": 14336,
            "num_local_experts": 8, "num_experts_per_tok": 2,
            "sliding_window": null, "vocab_size": 32000})",
               46'702'792'704},
        // 14,315,784,192 less the gates of the shared experts, 24 · 2,048.
        HfCase{"Qwen2Moe", R"({"model_type": "qwen2_moe", "hidden_size": 2048,
            "num_hidden_layers": 24, "num_attention_heads": 16,
            "num_key_value_heads": 16, "intermediate_size": 5632,
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632, "num_experts": 60,
            "num_experts_per_tok": 4, "vocab_size": 151936})",
               14'315'735'040},
        HfCase{"Qwen3Moe", R"({"model_type": "qwen3_moe", "hidden_size": 2048,
            "num_hidden_layers": 48, "num_attention_heads": 32,
            "num_key_value_heads": 4, "head_dim": 128,
            "intermediate_size": 6144, "moe_intermediate_size": 768,
            "num_experts": 128, "num_experts_per_tok": 8,
            "decoder_sparse_step": 1, "mlp_only_layers": [],
            "vocab_size": 151936})",
               30'532'122'624},
        HfCase{"DeepseekV2", R"({"model_type": "deepseek_v2",
            "hidden_size": 2048, "num_hidden_layers": 27,
            "num_attention_heads": 16, "num_key_value_heads": 16,
            "intermediate_size": 10944, "moe_intermediate_size": 1408,
            "n_routed_experts": 64, "n_shared_experts": 2,
            "num_experts_per_tok": 6, "first_k_dense_replace": 1,
            "moe_layer_freq": 1, "q_lora_rank": null, "kv_lora_rank": 512,
            "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "v_head_dim": 128, "vocab_size": 102400})",
               15'706'484'224},
        // 671,026,419,200 less the routing biases, 58 · 256.
        HfCase{"DeepseekV3", R"({"model_type": "deepseek_v3",
            "hidden_size": 7168, "num_hidden_layers": 61,
            "num_attention_heads": 128, "intermediate_size": 18432,
            "moe_intermediate_size": 2048, "n_routed_experts": 256,
            "n_shared_experts": 1, "num_experts_per_tok": 8,
            "first_k_dense_replace": 3, "q_lora_rank": 1536,
            "kv_lora_rank": 512, "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64, "v_head_dim": 128,
            "num_nextn_predict_layers": 1, "vocab_size": 129280})",
               671'026'404'352},
        // 106,852,251,264 less the routing biases, 45 · 128.
        HfCase{"Glm4Moe", R"({"model_type": "glm4_moe", "hidden_size": 4096,
            "num_hidden_layers": 46, "num_attention_heads": 96,
            "num_key_value_heads": 8, "head_dim": 128,
            "intermediate_size": 10944, "moe_intermediate_size": 1408,
            "n_routed_experts": 128, "n_shared_experts": 1,
            "num_experts_per_tok": 8, "first_k_dense_replace": 1,
            "attention_bias": true, "use_qk_norm": false,
            "vocab_size": 151552})",
               106'852'245'504},
        // 20,914,757,184 less router biases and attention sinks,
        // 24 · (32 + 64).
        HfCase{"GptOss", R"({"model_type": "gpt_oss", "hidden_size": 2880,
            "num_hidden_layers": 24, "num_attention_heads": 64,
            "num_key_value_heads": 8, "head_dim": 64,
            "intermediate_size": 2880, "num_local_experts": 32,
            "num_experts_per_tok": 4, "sliding_window": 128,
            "vocab_size": 201088})",
               20'914'754'880}),
    [](const auto& test) { return test.param.name; });

// A small model with every field that the tests below change.
constexpr absl::string_view kBase = R"({
  "_name_or_path": "org/tiny", "model_type": "qwen3_moe", "hidden_size": 64,
  "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4,
  "intermediate_size": 128, "moe_intermediate_size": 32, "num_experts": 8,
  "num_experts_per_tok": 2, "decoder_sparse_step": 1, "vocab_size": 100,
  "unknown_field": [1, 2]})";

std::string Base(absl::string_view from, absl::string_view to) {
  return absl::StrReplaceAll(kBase, {{from, to}});
}

std::vector<bool> MoeLayers(const ModelSpec& model) {
  std::vector<bool> moe;
  for (int i = 1; i + 1 < model.num_layers(); ++i) {
    moe.push_back(model.layers[i].is_moe());
  }
  return moe;
}

std::vector<int> Windows(const ModelSpec& model) {
  std::vector<int> windows;
  for (int i = 1; i + 1 < model.num_layers(); ++i) {
    windows.push_back(model.layers[i].sliding_window);
  }
  return windows;
}

TEST(HfConfigTest, TakesTheNameFromTheFile) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ParseModel(kBase, "f.json"));
  EXPECT_EQ(model.name, "tiny");
  ASSERT_OK_AND_ASSIGN(const ModelSpec unnamed,
                       ParseModel(Base("org/tiny", ""), "f.json"));
  EXPECT_EQ(unnamed.name, "f");
}

TEST(HfConfigTest, PlacesExpertsBySparseStep) {
  ASSERT_OK_AND_ASSIGN(
      const ModelSpec model,
      ParseModel(Base("\"decoder_sparse_step\": 1",
                      "\"decoder_sparse_step\": 2, \"mlp_only_layers\": [3]"),
                 "f"));
  // The step gives layers 1 and 3; layer 3 is in mlp_only_layers.
  EXPECT_THAT(MoeLayers(model), ElementsAre(false, true, false, false));
}

TEST(HfConfigTest, PlacesExpertsByLayerTypes) {
  ASSERT_OK_AND_ASSIGN(
      const ModelSpec model,
      ParseModel(Base("\"decoder_sparse_step\": 1",
                      "\"mlp_layer_types\": [\"dense\", \"sparse\", "
                      "\"sparse\", \"dense\"]"),
                 "f"));
  EXPECT_THAT(MoeLayers(model), ElementsAre(false, true, true, false));
}

// As in a file whose last layers were cut off.
TEST(HfConfigTest, TypesBeyondTheLastLayerCountForNothing) {
  ASSERT_OK_AND_ASSIGN(
      const ModelSpec model,
      ParseModel(Base("\"decoder_sparse_step\": 1",
                      "\"mlp_layer_types\": [\"sparse\", \"dense\", "
                      "\"dense\", \"dense\", \"sparse\", \"sparse\"]"),
                 "f"));
  EXPECT_THAT(MoeLayers(model), ElementsAre(true, false, false, false));
}

TEST(HfConfigTest, KnowsOtherNamesOfFields) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ParseModel(kBase, "f"));
  ASSERT_OK_AND_ASSIGN(
      const ModelSpec renamed,
      ParseModel(absl::StrReplaceAll(
                     kBase, {{"hidden_size\": 64", "d_model\": 64"},
                             {"num_hidden_layers", "num_layers"},
                             {"num_attention_heads", "n_head"},
                             {"num_experts_per_tok", "experts_per_token"}}),
                 "f"));
  EXPECT_EQ(renamed.layers, model.layers);
}

// Sizes under other names would be those that the class defaults to.
TEST(HfConfigTest, SizesThatAnotherProgramNamesAreNotLeftOut) {
  const std::pair<const char*, const char*> files[] = {
      {R"({"model_type": "llama", "num_layers": 2, "n_head": 4,
           "hidden_dim": 64, "ffn_embed_dim": 256, "vocab_size": 100})",
       "f: hidden_dim: 64; expected hidden_size, as a config.json"},
      {R"({"architectures": ["OLMoForCausalLM"], "n_layers": 2, "n_heads": 4,
           "d_model": 64, "mlp_ratio": 8, "vocab_size": 100})",
       "f: mlp_ratio: 8; expected intermediate_size, as a config.json"},
  };
  for (const auto& [file, message] : files) {
    EXPECT_THAT(
        ParseModel(file, "f"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(HfConfigTest, SaysWhatIsReadInPlaceOfAnotherProgramsFile) {
  EXPECT_THAT(ParseModel(R"({"dim": 64, "n_layers": 2, "n_heads": 4})", "f"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f: model_type: missing; expected a type "
                                 "such as llama, as in a config.json of")));
}

TEST(HfConfigTest, ReadsTheLanguagePartOfMultimodalModels) {
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ParseModel(kBase, "f"));
  ASSERT_OK_AND_ASSIGN(
      const ModelSpec nested,
      ParseModel(absl::StrCat("{\"model_type\": \"some_vl\", "
                              "\"vision_config\": {}, \"text_config\": ",
                              kBase, "}"),
                 "f"));
  EXPECT_EQ(nested.layers, model.layers);
}

TEST(HfConfigTest, ReadsSlidingWindows) {
  struct Case {
    std::string fields;
    std::vector<int> windows;
  };
  const Case cases[] = {
      {R"("sliding_window": 9)", {0, 0, 0, 0}},
      {R"("sliding_window": 9, "use_sliding_window": true,
          "max_window_layers": 3)",
       {0, 0, 0, 9}},
      {R"("sliding_window": 9, "layer_types": ["sliding_attention",
          "full_attention", "sliding_attention", "full_attention"])",
       {9, 0, 9, 0}},
      {R"("sliding_window": null, "use_sliding_window": true)", {0, 0, 0, 0}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.fields);
    ASSERT_OK_AND_ASSIGN(
        const ModelSpec model,
        ParseModel(Base("\"decoder_sparse_step\": 1", c.fields), "f"));
    EXPECT_EQ(Windows(model), c.windows);
  }
}

// Step 3.5 has more heads where it has a window, and types of layers beyond the
// last, for multi-token prediction.
TEST(HfConfigTest, ReadsTheHeadsOfLayersWithWindows) {
  constexpr char kStep[] = R"({
    "model_type": "step3p5", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_attention_groups": 2, "head_dim": 16,
    "intermediate_size": 96, "vocab_size": 100, "sliding_window": 8,
    "moe_num_experts": 4, "moe_top_k": 2, "moe_intermediate_size": 32,
    "share_expert_dim": 32, "moe_layers_enum": "1",
    "layer_types": ["full_attention", "sliding_attention", "full_attention"],
    "attention_other_setting": {"attention_type": "sliding_attention",
      "num_attention_heads": 6, "num_attention_groups": 2},
    "rope_theta": [5000000.0, 10000.0, 5000000.0]})";
  ASSERT_OK_AND_ASSIGN(const ModelSpec model, ParseModel(kStep, "f"));
  EXPECT_THAT(Windows(model), ElementsAre(0, 8));
  EXPECT_EQ(model.layers[1].num_heads, 4);
  EXPECT_EQ(model.layers[2].num_heads, 6);
  EXPECT_EQ(model.layers[2].num_kv_heads, 2);
  EXPECT_EQ(model.details.rope_theta, 0);
  EXPECT_THAT(
      ParseModel(absl::StrReplaceAll(kStep, {{"heads\": 6", "heads\": 5"}}),
                 "f"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("attention_other_setting.num_attention_groups: 2; "
                         "expected a divisor of the 5 attention heads")));
}

TEST(HfConfigTest, AlternatesTheWindowsOfGptOss) {
  ASSERT_OK_AND_ASSIGN(
      const ModelSpec model,
      ParseModel(absl::StrReplaceAll(
                     kBase, {{"qwen3_moe", "gpt_oss"},
                             {"\"num_experts\"", "\"num_local_experts\""},
                             {"\"unknown_field\": [1, 2]",
                              "\"sliding_window\": 128"}}),
                 "f"));
  EXPECT_THAT(Windows(model), ElementsAre(128, 0, 128, 0));
}

TEST(HfConfigTest, UntiesAndTiesAsTheFileSays) {
  for (const bool tied : {false, true}) {
    ASSERT_OK_AND_ASSIGN(
        const ModelSpec model,
        ParseModel(Base("\"vocab_size\": 100",
                        tied ? "\"vocab_size\": 100, "
                               "\"tie_word_embeddings\": true"
                             : "\"vocab_size\": 100, "
                               "\"tie_word_embeddings\": false"),
                   "f"));
    EXPECT_EQ(model.layers.back().tied_embeddings, tied);
  }
}

TEST(HfConfigTest, RefusesWhatItCannotDescribeAndNamesTheNearest) {
  EXPECT_THAT(ParseModel(Base("qwen3_moe", "zamba2"), "f.json"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("f.json: model_type: zamba2; expected"),
                             HasSubstr("share weights with others"),
                             HasSubstr("The nearest family is bamba"))));
}

TEST(HfConfigTest, NamesFieldValueAndWhatWasExpected) {
  struct Case {
    std::string from;
    std::string to;
    std::string message;
  };
  const Case cases[] = {
      {"\"hidden_size\": 64,", "", "hidden_size: missing"},
      {"\"hidden_size\": 64", "\"hidden_size\": 0",
       "f: hidden_size: 0; expected a positive integer"},
      {"\"num_hidden_layers\": 4", "\"num_hidden_layers\": 16383",
       "at most 16382"},
      {"\"num_attention_heads\": 8", "\"num_attention_heads\": 12",
       "num_attention_heads: 12; expected a divisor of hidden_size (64)"},
      {"\"num_key_value_heads\": 4", "\"num_key_value_heads\": 3",
       "num_key_value_heads: 3; expected a divisor of the 8 attention heads"},
      {"\"num_key_value_heads\": 4,", "", "num_key_value_heads: missing"},
      {"\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9",
       "num_experts_per_tok: 9; expected a positive integer, at most 8"},
      {"\"decoder_sparse_step\": 1", "\"mlp_only_layers\": [4]",
       "mlp_only_layers[0]: 4; expected a non-negative integer, at most 3"},
      {"\"decoder_sparse_step\": 1",
       "\"sliding_window\": 8, \"layer_types\": [\"full_attention\"]",
       "one type for each of the 4 layers; there are 1"},
      {"\"vocab_size\": 100", "\"vocab_size\": \"big\"", "vocab_size: big"},
      {"\"decoder_sparse_step\": 1", "\"mlp_layer_types\": [\"dense\"]",
       "mlp_layer_types: a list; expected one type for each of the 4 layers"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.to);
    ASSERT_NE(Base(c.from, c.to), kBase);
    EXPECT_THAT(
        ParseModel(Base(c.from, c.to), "f"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
}

TEST(HfConfigTest, NeedsNoHiddenSizeThatHeadsDivideWithHeadDim) {
  EXPECT_THAT(ParseModel(Base("\"num_attention_heads\": 8",
                              "\"num_attention_heads\": 12, \"head_dim\": 10"),
                         "f"),
              IsOk());
}

// Llama 3.1 in the names of older files, and nested as in newer ones.
TEST(HfConfigTest, ReadsWhatHasNoCost) {
  constexpr char kDimensions[] = R"("model_type": "llama", "hidden_size": 4096,
      "num_hidden_layers": 2, "num_attention_heads": 32,
      "intermediate_size": 11008, "vocab_size": 32000, "rms_norm_eps": 1e-05,
      "attention_dropout": 0.0, )";
  const ModelDetails expected = {.rope_theta = 500000,
                                 .rope_scaling = {.type = "llama3",
                                                  .factor = 8,
                                                  .low_freq_factor = 1,
                                                  .high_freq_factor = 4,
                                                  .original_positions = 8192},
                                 .norm_epsilon = 1e-5,
                                 .attention_dropout = 0,
                                 .hidden_dropout = 0,
                                 .dtype = "bfloat16"};
  constexpr char kScaling[] = R"("factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
      "rope_type": "llama3")";
  for (const std::string& rope :
       {absl::StrCat(R"("rope_theta": 500000.0, "torch_dtype": "bfloat16",
                        "rope_scaling": {)",
                     kScaling, "}"),
        absl::StrCat(R"("dtype": "bfloat16", "rope_parameters": {
                        "rope_theta": 500000.0, )",
                     kScaling, "}")}) {
    ASSERT_OK_AND_ASSIGN(
        const ModelSpec model,
        ParseModel(absl::StrCat("{", kDimensions, rope, "}"), "config.json"));
    EXPECT_EQ(model.details, expected) << rope;
  }
}

TEST(HfConfigTest, ReadsDropoutPartialRotationAndSoftCaps) {
  ASSERT_OK_AND_ASSIGN(
      const ModelSpec model,
      ParseModel(R"({"model_type": "gpt_neox", "hidden_size": 64,
                     "num_hidden_layers": 2, "num_attention_heads": 4,
                     "intermediate_size": 256, "vocab_size": 100,
                     "rotary_pct": 0.25, "rotary_emb_base": 10000,
                     "hidden_dropout": 0.2, "attn_logit_softcapping": 50.0,
                     "final_logit_softcapping": 30.0,
                     "rope_scaling": {"type": "default"}})",
                 "config.json"));
  EXPECT_EQ(model.details, (ModelDetails{.rope_theta = 10000,
                                         .rope_fraction = 0.25,
                                         .attention_dropout = 0,
                                         .hidden_dropout = 0.2,
                                         .attention_softcap = 50,
                                         .logit_softcap = 30}));
}

TEST(HfConfigTest, DropoutThatIsNotGivenIsThatOfTheFamily) {
  const auto details = [](absl::string_view model_type) {
    const auto model =
        ParseModel(absl::StrCat(R"({"model_type": ")", model_type,
                                R"(", "hidden_size": 64, "num_hidden_layers": 2,
                     "num_attention_heads": 4, "intermediate_size": 256,
                     "max_position_embeddings": 64, "vocab_size": 100})"),
                   "config.json");
    EXPECT_THAT(model, IsOk());
    return model.ok() ? model->details : ModelDetails();
  };
  EXPECT_EQ(details("gpt2").attention_dropout, 0.1);
  EXPECT_EQ(details("gpt2").hidden_dropout, 0.1);
  EXPECT_EQ(details("opt").attention_dropout, 0);
  EXPECT_TRUE(details("opt").has_dropout());
  EXPECT_FALSE(details("llama").has_dropout());
}

TEST(HfConfigTest, ABadRateNamesItsField) {
  EXPECT_THAT(
      ParseModel(R"({"model_type": "llama", "hidden_size": 64,
                     "num_hidden_layers": 2, "num_attention_heads": 4,
                     "intermediate_size": 256, "vocab_size": 100,
                     "attention_dropout": 2})",
                 "config.json"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("config.json: attention_dropout: 2; expected")));
}

TEST(HfConfigTest, SaysWhatAFileWithoutATypeLacks) {
  const auto error = [](const std::string& config) {
    return std::string(ParseModel(config, "c.json").status().message());
  };
  EXPECT_THAT(error(R"({"n_embd": 768, "n_layer": 12})"),
              HasSubstr("model_type: missing; expected the type of the model "
                        "beside n_embd: \"model_type\": \"gpt2\" if"));
  EXPECT_THAT(error(R"({"hidden_size": 64, "num_hidden_layers": 2})"),
              HasSubstr("\"model_type\": \"llama\" if"));
  EXPECT_THAT(error(R"({"dim": 256, "n_heads": 16})"),
              HasSubstr("transformers, which has hidden_size instead of dim"));
  EXPECT_THAT(error(R"({"vocab_size": 256})"),
              HasSubstr("write a model file (docs/model-file.md)"));
}

}  // namespace
}  // namespace tangram
