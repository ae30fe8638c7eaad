// Models by what they are: totals of public checkpoints, parts included, whose
// files here have only the fields on which the total depends.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/config/document.h"
#include "formats/config/hf_config.h"
#include "formats/config/hf_linear_attention.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

absl::StatusOr<HfModel> Read(const std::string& text) {
  const auto value = ParseConfigText(text, "f");
  EXPECT_TRUE(value.ok()) << value.status();
  return ReadHfModel(ConfigField(*value, "f"), "f");
}

struct Checkpoint {
  std::string name;
  std::string config;
  double parameters = 0;
};

class HfCheckpointTest : public ::testing::TestWithParam<Checkpoint> {};

TEST_P(HfCheckpointTest, HasThePublishedParameters) {
  ASSERT_OK_AND_ASSIGN(const HfModel read, Read(GetParam().config));
  double total = ParameterCount(read.model);
  for (const UnplannedPart& part : read.unplanned) total += part.parameters;
  EXPECT_DOUBLE_EQ(total, GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Decoders, HfCheckpointTest,
    ::testing::Values(
        Checkpoint{"Gemma2", R"({"model_type": "gemma2", "hidden_size": 2304,
            "num_hidden_layers": 26, "num_attention_heads": 8,
            "num_key_value_heads": 4, "head_dim": 256,
            "intermediate_size": 9216, "sliding_window": 4096,
            "vocab_size": 256000})",
                   2'614'341'888},
        // Files may leave out what their classes say.
        Checkpoint{"Gemma7bByDefault", R"({"model_type": "gemma"})",
                   8'537'680'896},
        Checkpoint{"Gemma2ByDefault", R"({"model_type": "gemma2"})",
                   2'614'341'888},
        Checkpoint{"Qwen3WithoutHeadDim", R"({"model_type": "qwen3",
            "hidden_size": 1024, "num_hidden_layers": 28,
            "num_attention_heads": 16, "num_key_value_heads": 8,
            "intermediate_size": 3072, "tie_word_embeddings": true,
            "vocab_size": 151936})",
                   596'049'920},
        Checkpoint{"Gemma3", R"({"model_type": "gemma3_text",
            "hidden_size": 1152, "num_hidden_layers": 26,
            "num_attention_heads": 4, "num_key_value_heads": 1,
            "head_dim": 256, "intermediate_size": 6912, "sliding_window": 512,
            "vocab_size": 262144})",
                   999'885'952},
        Checkpoint{"Phi2", R"({"model_type": "phi-msft", "n_embd": 2560,
            "n_layer": 32, "n_head": 32, "n_inner": null, "n_head_kv": null,
            "tie_word_embeddings": false, "vocab_size": 51200})",
                   2'779'683'840},
        Checkpoint{"Phi3", R"({"model_type": "phi3", "hidden_size": 3072,
            "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 32, "intermediate_size": 8192,
            "vocab_size": 32064})",
                   3'821'079'552},
        Checkpoint{"Mpt7b", R"({"model_type": "mpt", "d_model": 4096,
            "n_layers": 32, "n_heads": 32, "expansion_ratio": 4,
            "max_seq_len": 2048, "no_bias": true, "learned_pos_emb": true,
            "attn_config": {"alibi": true, "attn_type": "multihead_attention"},
            "vocab_size": 50432})",
                   6'649'286'656},
        Checkpoint{"GptJ", R"({"model_type": "gptj", "n_embd": 4096,
            "n_layer": 28, "n_head": 16, "rotary_dim": 64,
            "tie_word_embeddings": false, "vocab_size": 50400})",
                   6'050'882'784},
        Checkpoint{"SantaCoder", R"({"model_type": "gpt_bigcode",
            "n_embd": 2048, "n_layer": 24, "n_head": 16, "n_inner": 8192,
            "n_positions": 2048, "multi_query": true, "vocab_size": 49280})",
                   1'124'886'528},
        Checkpoint{"StarCoder2", R"({"model_type": "starcoder2",
            "hidden_size": 4608, "num_hidden_layers": 32,
            "num_attention_heads": 36, "num_key_value_heads": 4,
            "intermediate_size": 18432, "use_bias": true,
            "vocab_size": 49152})",
                   7'173'923'840},
        Checkpoint{"Falcon7B", R"({"model_type": "falcon", "hidden_size": 4544,
            "num_hidden_layers": 32, "num_attention_heads": 71,
            "num_kv_heads": 71, "multi_query": true, "bias": false,
            "parallel_attn": true, "new_decoder_architecture": false,
            "vocab_size": 65024})",
                   6'921'720'704},
        Checkpoint{"Bloom560m", R"({"model_type": "bloom", "n_embed": 1024,
            "n_layer": 24, "num_attention_heads": 16, "vocab_size": 250880})",
                   559'214'592},
        Checkpoint{"Cohere", R"({"model_type": "cohere", "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8, "intermediate_size": 14336,
            "vocab_size": 256000})",
                   8'028'033'024},
        Checkpoint{"Olmo2", R"({"model_type": "olmo2", "hidden_size": 5120,
            "num_hidden_layers": 64, "num_attention_heads": 40,
            "num_key_value_heads": 8, "intermediate_size": 27648,
            "tie_word_embeddings": false, "vocab_size": 100352})",
                   32'234'279'936},
        Checkpoint{"StableLm", R"({"model_type": "stablelm",
            "hidden_size": 2048, "num_hidden_layers": 24,
            "num_attention_heads": 32, "num_key_value_heads": 32,
            "intermediate_size": 5632, "use_qkv_bias": true,
            "vocab_size": 100352})",
                   1'644'515'328},
        Checkpoint{"Internlm2", R"({"model_type": "internlm2", "bias": false,
            "hidden_size": 4096, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8,
            "intermediate_size": 14336, "vocab_size": 92544})",
                   7'737'708'544},
        Checkpoint{"ChatGlm3", R"({"model_type": "chatglm",
            "add_bias_linear": false, "add_qkv_bias": true,
            "ffn_hidden_size": 13696, "hidden_size": 4096, "kv_channels": 128,
            "multi_query_attention": true, "multi_query_group_num": 2,
            "num_attention_heads": 32, "num_layers": 28, "rmsnorm": true,
            "padded_vocab_size": 65024})",
                   6'243'584'000},
        Checkpoint{"Glm4", R"({"model_type": "chatglm",
            "add_bias_linear": false, "add_qkv_bias": true,
            "ffn_hidden_size": 13696, "hidden_size": 4096, "kv_channels": 128,
            "multi_query_attention": true, "multi_query_group_num": 2,
            "num_attention_heads": 32, "num_layers": 40, "rmsnorm": true,
            "padded_vocab_size": 151552})",
                   9'399'951'360},
        Checkpoint{"MiniCpm", R"({"model_type": "minicpm", "hidden_size": 2304,
            "num_hidden_layers": 40, "num_attention_heads": 36,
            "num_key_value_heads": 36, "intermediate_size": 5760,
            "tie_word_embeddings": true, "vocab_size": 122753})",
                   2'724'880'896},
        Checkpoint{"QwenOne", R"({"model_type": "qwen", "hidden_size": 2048,
            "num_hidden_layers": 24, "num_attention_heads": 16,
            "intermediate_size": 11008, "no_bias": true,
            "vocab_size": 151936})",
                   1'836'828'672}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Mixtures, HfCheckpointTest,
    ::testing::Values(
        Checkpoint{"Dbrx", R"({"model_type": "dbrx", "d_model": 6144,
            "n_layers": 40, "n_heads": 48, "max_seq_len": 32768,
            "attn_config": {"kv_n_heads": 8, "rope_theta": 500000},
            "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16,
            "moe_top_k": 4}, "vocab_size": 100352})",
                   131'596'523'520},
        // 108,641,793,536 less the vision part, 871,932,416.
        Checkpoint{"Llama4Scout", R"({"model_type": "llama4",
            "text_config": {"model_type": "llama4_text", "hidden_size": 5120,
            "num_hidden_layers": 48, "num_attention_heads": 40,
            "num_key_value_heads": 8, "head_dim": 128,
            "intermediate_size": 8192, "intermediate_size_mlp": 16384,
            "interleave_moe_layer_step": 1, "num_local_experts": 16,
            "num_experts_per_tok": 1, "use_qk_norm": true,
            "attention_chunk_size": 8192, "vocab_size": 202048}})",
                   107'769'861'120},
        Checkpoint{"KimiK2", R"({"model_type": "kimi_k2", "hidden_size": 7168,
            "num_hidden_layers": 61, "num_attention_heads": 64,
            "intermediate_size": 18432, "moe_intermediate_size": 2048,
            "n_routed_experts": 384, "n_shared_experts": 1,
            "num_experts_per_tok": 8, "first_k_dense_replace": 1,
            "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64, "v_head_dim": 128,
            "topk_method": "noaux_tc", "vocab_size": 163840})",
                   1'026'408'232'448},
        Checkpoint{"MinimaxM2", R"({"model_type": "minimax_m2",
            "hidden_size": 3072, "num_hidden_layers": 62,
            "num_attention_heads": 48, "num_key_value_heads": 8,
            "head_dim": 128, "intermediate_size": 1536,
            "num_local_experts": 256, "num_experts_per_tok": 8,
            "use_qk_norm": true, "use_routing_bias": true,
            "shared_intermediate_size": 0, "vocab_size": 200064})",
                   228'689'764'864},
        // 27,781,427,952 less the vision part, 460,730,096, and a module of
        // multi-token prediction, 424,699,392.
        Checkpoint{"Qwen35", R"({"architectures":
            ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5",
            "text_config": {"model_type": "qwen3_5_text", "hidden_size": 5120,
            "num_hidden_layers": 64, "num_attention_heads": 24,
            "num_key_value_heads": 4, "head_dim": 256,
            "intermediate_size": 17408, "attn_output_gate": true,
            "full_attention_interval": 4, "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128, "linear_num_key_heads": 16,
            "linear_num_value_heads": 48, "linear_value_head_dim": 128,
            "vocab_size": 248320}, "tie_word_embeddings": false})",
                   26'895'998'464},
        Checkpoint{"Ernie45", R"({"model_type": "ernie4_5_moe",
            "hidden_size": 2560, "num_hidden_layers": 28,
            "num_attention_heads": 20, "num_key_value_heads": 4,
            "head_dim": 128, "intermediate_size": 12288,
            "moe_intermediate_size": 1536, "moe_num_experts": 64, "moe_k": 6,
            "moe_num_shared_experts": 2, "moe_layer_start_index": 1,
            "use_bias": false, "vocab_size": 103424})",
                   21'825'437'888},
        // Without latent attention: embedding and head 330,956,800, attention
        // 78,643,200, the dense MLP 26,296,320, eleven layers of 66 experts and
        // a router 2,498,805,760, norms 32,000.
        Checkpoint{"DeepseekVl2Tiny", R"({"model_type": "deepseek_vl_v2",
            "language_config": {"architectures": ["DeepseekV2ForCausalLM"],
            "hidden_size": 1280, "num_hidden_layers": 12,
            "num_attention_heads": 10, "num_key_value_heads": 10,
            "intermediate_size": 6848, "moe_intermediate_size": 896,
            "n_routed_experts": 64, "n_shared_experts": 2,
            "num_experts_per_tok": 6, "first_k_dense_replace": 1,
            "use_mla": false, "v_head_dim": 0, "vocab_size": 129280}})",
                   2'934'734'080},
        Checkpoint{"Phi35Moe", R"({"model_type": "phimoe",
            "attention_bias": true, "hidden_size": 4096,
            "num_hidden_layers": 32, "num_attention_heads": 32,
            "num_key_value_heads": 8, "intermediate_size": 6400,
            "num_local_experts": 16, "num_experts_per_tok": 2,
            "lm_head_bias": true, "vocab_size": 32064})",
                   41'873'153'344},
        Checkpoint{"DeepseekMoe", R"({"model_type": "deepseek",
            "hidden_size": 2048, "num_hidden_layers": 28,
            "num_attention_heads": 16, "num_key_value_heads": 16,
            "intermediate_size": 10944, "moe_intermediate_size": 1408,
            "n_routed_experts": 64, "n_shared_experts": 2,
            "num_experts_per_tok": 6, "first_k_dense_replace": 1,
            "vocab_size": 102400})",
                   16'375'728'128}),
    [](const auto& test) { return test.param.name; });

// A plain decoder in the fields of new files, without its type.
std::string Plain(const std::string& type, const std::string& more) {
  return absl::StrCat("{", type, R"( "hidden_size": 64,
      "num_hidden_layers": 4, "num_attention_heads": 8,
      "num_key_value_heads": 4, "intermediate_size": 128,
      "rms_norm_eps": 1e-6, "hidden_act": "silu", "vocab_size": 100)",
                      more, "}");
}

std::vector<int> Windows(const HfModel& read) {
  std::vector<int> windows;
  for (const LayerSpec& layer : read.model.layers) {
    if (layer.kind == LayerKind::kTransformer) {
      windows.push_back(layer.sliding_window);
    }
  }
  return windows;
}

std::vector<std::string> Unplanned(const HfModel& read) {
  std::vector<std::string> texts;
  for (const UnplannedPart& part : read.unplanned) texts.push_back(part.what);
  return texts;
}

TEST(HfModelTest, KnowsAnUnknownTypeByItsArchitecture) {
  ASSERT_OK_AND_ASSIGN(const HfModel named,
                       Read(Plain(R"("model_type": "qwen3",)", "")));
  ASSERT_OK_AND_ASSIGN(const HfModel by_class,
                       Read(Plain(R"("model_type": "mine",
                     "architectures": ["Qwen3ForCausalLM"],)",
                                  "")));
  EXPECT_EQ(by_class.model.layers, named.model.layers);
  ASSERT_OK_AND_ASSIGN(
      const HfModel without_type,
      Read(Plain(R"("architectures": ["Qwen3ForCausalLM"],)", "")));
  EXPECT_EQ(without_type.model.layers, named.model.layers);
}

TEST(HfModelTest, KnowsAPlainDecoderByItsFieldsAndSaysSo) {
  ASSERT_OK_AND_ASSIGN(const HfModel read,
                       Read(Plain(R"("model_type": "mine",)", "")));
  ASSERT_OK_AND_ASSIGN(const HfModel llama,
                       Read(Plain(R"("model_type": "llama",)", "")));
  EXPECT_EQ(read.model.layers, llama.model.layers);
  EXPECT_THAT(Unplanned(read),
              ElementsAre(AllOf(HasSubstr("type mine is unknown"),
                                HasSubstr("those of llama"))));
}

TEST(HfModelTest, RefusesAnUnknownTypeWithAnUnknownField) {
  EXPECT_THAT(Read(Plain(R"("model_type": "mine",)", R"(, "memory_slots": 3)")),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("its field memory_slots is unknown"),
                             HasSubstr("nearest family is llama"),
                             HasSubstr("docs/model-file.md"))));
  EXPECT_THAT(Read(Plain(R"("model_type": "mine",)",
                         R"(, "num_experts": 4, "novel": 1)")),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("nearest family is qwen3_moe")));
}

TEST(HfModelTest, RefusesFieldsOfLayersThatAreNotModelled) {
  for (const char* const field :
       {R"("hc_mult": 4)", R"("hidden_size_per_layer_input": 256)",
        R"("cross_attention_layers": [3])", R"("mamba_d_state": 16)",
        R"("layer_types": ["mamba", "attention", "mamba", "attention"])"}) {
    EXPECT_THAT(
        Read(Plain(R"("model_type": "llama",)", absl::StrCat(", ", field))),
        StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("modelled")))
        << field;
  }
  EXPECT_THAT(Read(Plain(R"("model_type": "llama",)", R"(, "hc_mult": 0)")),
              IsOk());
}

// Their type and all their fields are those of a plain decoder.
TEST(HfModelTest, RefusesDraftModelsByTheirClass) {
  for (const char* const name :
       {"LlamaForCausalLMEagle3", "DFlashDraftModel", "MedusaModel"}) {
    EXPECT_THAT(
        Read(Plain(absl::StrCat(R"("model_type": "qwen3", "architectures": [")",
                                name, R"("],)"),
                   "")),
        StatusIs(absl::StatusCode::kUnimplemented,
                 AllOf(HasSubstr("a draft model"),
                       HasSubstr("nearest family is qwen3"))));
  }
}

// The language model of the first LLaVA is in no part of its own.
TEST(HfModelTest, PlansTheDecoderOfLlava) {
  ASSERT_OK_AND_ASSIGN(const HfModel read, Read(Plain(R"("model_type": "llava",
                     "mm_vision_tower": "clip", "mm_hidden_size": 1024,)",
                                                      "")));
  ASSERT_OK_AND_ASSIGN(const HfModel llama,
                       Read(Plain(R"("model_type": "llama",)", "")));
  EXPECT_EQ(read.model.layers, llama.model.layers);
  EXPECT_THAT(Unplanned(read), ElementsAre("all but the language model"));
}

TEST(HfModelTest, RefusesDiffusionModelsWithoutAnAdviceForDecoders) {
  EXPECT_THAT(Read(R"({"_class_name": "WanModel", "num_layers": 2})"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("diffusion"),
                             ::testing::Not(HasSubstr("nearest")))));
}

TEST(HfModelTest, GivesWindowsToAllButEveryPeriod) {
  const std::string window = R"(, "sliding_window": 9)";
  ASSERT_OK_AND_ASSIGN(const HfModel gemma2,
                       Read(Plain(R"("model_type": "gemma2",)", window)));
  EXPECT_THAT(Windows(gemma2), ElementsAre(9, 0, 9, 0));
  ASSERT_OK_AND_ASSIGN(const HfModel cohere2,
                       Read(Plain(R"("model_type": "cohere2",)", window)));
  EXPECT_THAT(Windows(cohere2), ElementsAre(9, 9, 9, 0));
  ASSERT_OK_AND_ASSIGN(
      const HfModel gemma3,
      Read(Plain(R"("model_type": "gemma3_text",)",
                 absl::StrCat(window, R"(, "sliding_window_pattern": 3)"))));
  EXPECT_THAT(Windows(gemma3), ElementsAre(9, 9, 0, 9));
  ASSERT_OK_AND_ASSIGN(
      const HfModel letters,
      Read(Plain(R"("model_type": "exaone4",)",
                 absl::StrCat(window, R"(, "sliding_window_pattern": "LG")"))));
  EXPECT_THAT(Windows(letters), ElementsAre(9, 0, 9, 0));
  ASSERT_OK_AND_ASSIGN(
      const HfModel chunked,
      Read(Plain(R"("model_type": "llama4_text", "num_local_experts": 2,
                     "num_experts_per_tok": 1,)",
                 R"(, "attention_chunk_size": 7)")));
  EXPECT_THAT(Windows(chunked), ElementsAre(7, 7, 7, 0));
}

TEST(HfModelTest, ReadsLayersThatDifferInTheirHeads) {
  ASSERT_OK_AND_ASSIGN(
      const HfModel read,
      Read(R"({"model_type": "mimo_v2_flash", "hidden_size": 64,
               "num_hidden_layers": 3, "num_attention_heads": 8,
               "num_key_value_heads": 2, "head_dim": 12, "v_head_dim": 8,
               "swa_num_key_value_heads": 4, "sliding_window": 5,
               "hybrid_layer_pattern": [0, 1, 1], "moe_layer_freq": [0, 1, 1],
               "intermediate_size": 128, "moe_intermediate_size": 16,
               "n_routed_experts": 4, "num_experts_per_tok": 2,
               "add_swa_attention_sink_bias": true, "vocab_size": 100})"));
  const LayerSpec& full = read.model.layers[1];
  const LayerSpec& sliding = read.model.layers[2];
  EXPECT_EQ(full.num_kv_heads, 2);
  EXPECT_EQ(full.ffn_hidden_size, 128);
  EXPECT_EQ(sliding.num_kv_heads, 4);
  EXPECT_EQ(sliding.sliding_window, 5);
  EXPECT_EQ(sliding.num_experts, 4);
  EXPECT_EQ(sliding.head_dim, 12);
  EXPECT_EQ(sliding.value_head_dim, 8);
  // Sinks of 8 heads in two layers.
  EXPECT_THAT(read.unplanned,
              Contains(AllOf(Field(&UnplannedPart::what, "attention sinks"),
                             Field(&UnplannedPart::parameters, 16))));
}

TEST(HfModelTest, StandsInForLinearAttentionWithAsManyWeights) {
  const HfLinearAttention of = {.key_heads = 16,
                                .key_head_dim = 128,
                                .value_heads = 48,
                                .value_head_dim = 128,
                                .kernel = 4};
  const auto value = ParseConfigText("{linear_num_value_heads: 48}", "f");
  LayerSpec layer = {.hidden_size = 5120, .ffn_hidden_size = 1};
  EXPECT_THAT(SetStandIn(ConfigField(*value, "f"), of, layer), IsOk());
  // Queries, keys, values and gates: 2 · 16 · 128 + 2 · 48 · 128 features.
  EXPECT_DOUBLE_EQ(ParameterCount(layer, OpKind::kQkvProjection),
                   5120.0 * 16384);
  EXPECT_DOUBLE_EQ(ParameterCount(layer, OpKind::kOutputProjection),
                   5120.0 * 48 * 128);
  // 64 · 5 · 128 + 3 · 128² = 90,112 multiplications of a token and head.
  EXPECT_NEAR(layer.sliding_window * (layer.head_dim + layer.value_head_dim),
              90112, layer.head_dim + layer.value_head_dim);
}

TEST(HfModelTest, ReadsTheLanguagePartOfPartsInsideParts) {
  ASSERT_OK_AND_ASSIGN(
      const HfModel read,
      Read(absl::StrCat(R"({"model_type": "qwen2_5_omni", "dtype": "bfloat16",
                            "tie_word_embeddings": true,
                            "thinker_config": {"text_config": )",
                        Plain(R"("model_type": "qwen2_5_omni_text",)", ""),
                        "}}")));
  EXPECT_TRUE(read.model.layers[1].qkv_bias);
  EXPECT_TRUE(read.model.layers.back().tied_embeddings);
  EXPECT_EQ(read.model.details.dtype, "bfloat16");
  EXPECT_THAT(Unplanned(read),
              ElementsAre(HasSubstr("thinker_config.text_config")));
}

TEST(HfModelTest, TellsTheSequenceOfTheFirstTraining) {
  const auto tokens = [](const std::string& more) {
    const auto read = Read(Plain(R"("model_type": "llama",)", more));
    return read->sequence_length;
  };
  EXPECT_EQ(tokens(""), std::nullopt);
  EXPECT_EQ(tokens(R"(, "max_position_embeddings": 4096)"), 4096);
  EXPECT_EQ(tokens(R"(, "max_position_embeddings": 131072)"), std::nullopt);
  EXPECT_EQ(tokens(R"(, "max_position_embeddings": 131072, "rope_scaling":
                      {"rope_type": "llama3", "factor": 8,
                       "original_max_position_embeddings": 8192})"),
            8192);
}

TEST(HfModelTest, NotesTheQuantizationOfTheWeights) {
  ASSERT_OK_AND_ASSIGN(
      const HfModel read,
      Read(Plain(R"("model_type": "llama", "dtype": "bfloat16",)",
                 R"(, "quantization_config": {"quant_method": "fp8"})")));
  EXPECT_THAT(Unplanned(read),
              ElementsAre("the quantization of the weights (fp8); planned in "
                          "bfloat16"));
}

}  // namespace
}  // namespace tangram
