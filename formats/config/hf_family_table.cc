#include "formats/config/hf_family.h"

namespace tangram {
namespace {

// Returns `base` under another name and with `change` made to it.
template <typename Change>
constexpr HfFamily Like(HfFamily base, absl::string_view model_type,
                        Change change) {
  base.model_type = model_type;
  change(base);
  return base;
}

// Defaults from huggingface/transformers,
// src/transformers/models/*/configuration_*.py and modeling_*.py, and from the
// code that models bring with their files.

constexpr HfFamily kLlama = {.model_type = "llama",
                             .gated_mlp = true,
                             .bias_on_output = true,
                             .sizes = {.layers = 32,
                                       .hidden_size = 4096,
                                       .heads = 32,
                                       .ffn_hidden_size = 11008,
                                       .vocab_size = 32000}};

constexpr HfFamily kMistral = {.model_type = "mistral",
                               .gated_mlp = true,
                               .needs_kv_heads = true,
                               .sliding_window = SlidingWindowRule::kAllLayers,
                               .sizes = {.layers = 32,
                                         .hidden_size = 4096,
                                         .heads = 32,
                                         .kv_heads = 8,
                                         .ffn_hidden_size = 14336,
                                         .vocab_size = 32000}};

constexpr HfFamily kQwen2 = {.model_type = "qwen2",
                             .gated_mlp = true,
                             .qkv_bias = true,
                             .needs_kv_heads = true,
                             .sliding_window = SlidingWindowRule::kIfEnabled};

constexpr HfFamily kQwen3 = Like(kQwen2, "qwen3", [](HfFamily& f) {
  f.qk_norm = QkNorm::kHead;
  f.qkv_bias = false;
  f.bias_on_output = true;
  f.sizes.head_dim = 128;
});

constexpr HfFamily kQwen3Moe = Like(kQwen3, "qwen3_moe", [](HfFamily& f) {
  f.sizes = {};
  f.experts = ExpertRule::kSparseStep;
});

// Linear attention three layers of four, gates on the attention of the fourth.
constexpr HfFamily kQwen3Next = Like(kQwen3Moe, "qwen3_next", [](HfFamily& f) {
  f.output_gate = true;
  f.shared_gate = true;
});

constexpr HfFamily kGemma = {.model_type = "gemma",
                             .tied_embeddings = true,
                             .gated_mlp = true,
                             .bias_on_output = true,
                             .sizes = {.layers = 28,
                                       .hidden_size = 3072,
                                       .heads = 16,
                                       .kv_heads = 16,
                                       .head_dim = 256,
                                       .ffn_hidden_size = 24576,
                                       .vocab_size = 256000}};

constexpr HfFamily kGemma2 = Like(kGemma, "gemma2", [](HfFamily& f) {
  f.sizes = {.layers = 26,
             .hidden_size = 2304,
             .heads = 8,
             .kv_heads = 4,
             .head_dim = 256,
             .ffn_hidden_size = 9216,
             .vocab_size = 256000};
  f.extra_norms = 2;
  f.sliding_window = SlidingWindowRule::kPeriod;
  f.window_period = 2;
});

constexpr HfFamily kGemma3 = Like(kGemma2, "gemma3_text", [](HfFamily& f) {
  f.qk_norm = QkNorm::kHead;
  f.window_period = 6;
  f.sizes.vocab_size = 262208;
});

constexpr HfFamily kDeepseek = {.model_type = "deepseek",
                                .gated_mlp = true,
                                .bias_on_output = true,
                                .experts = ExpertRule::kAfterFirstDense,
                                .first_dense = 0};

constexpr HfFamily kDeepseekV2 = Like(
    kDeepseek, "deepseek_v2", [](HfFamily& f) { f.latent_attention = true; });

constexpr HfFamily kDeepseekV3 =
    Like(kDeepseekV2, "deepseek_v3", [](HfFamily& f) {
      f.routing_bias = true;
      f.first_dense = 3;
    });

constexpr HfFamily kGlm4Moe = {.model_type = "glm4_moe",
                               .gated_mlp = true,
                               .needs_kv_heads = true,
                               .experts = ExpertRule::kAfterFirstDense,
                               .first_dense = 1,
                               .routing_bias = true};

constexpr HfFamily kGptNeoX = {
    .model_type = "gpt_neox", .layer_norm = true, .linear_bias = true};

constexpr HfFamily kGpt2 = {.model_type = "gpt2",
                            .tied_embeddings = true,
                            .learned_positions = true,
                            .layer_norm = true,
                            .linear_bias = true,
                            .attention_dropout = 0.1,
                            .hidden_dropout = 0.1};

constexpr HfFamily kGptJ = {.model_type = "gptj",
                            .head_bias = true,
                            .layer_norm = true,
                            .extra_norms = -1,
                            .mlp_bias = true};

constexpr HfFamily kPhi = {.model_type = "phi",
                           .head_bias = true,
                           .layer_norm = true,
                           .extra_norms = -1,
                           .linear_bias = true};

constexpr HfFamily kOlmo2 = {.model_type = "olmo2",
                             .qk_norm = QkNorm::kWidth,
                             .gated_mlp = true,
                             .bias_on_output = true};

constexpr HfFamily kGranite =
    Like(kLlama, "granite", [](HfFamily& f) { f.tied_embeddings = true; });

constexpr HfFamily kCohere = {.model_type = "cohere",
                              .tied_embeddings = true,
                              .extra_norms = -1,
                              .gated_mlp = true,
                              .bias_on_output = true};

constexpr HfFamily kMinimaxM2 = {.model_type = "minimax_m2",
                                 .qk_norm = QkNorm::kWidth,
                                 .gated_mlp = true,
                                 .needs_kv_heads = true,
                                 .experts = ExpertRule::kEveryLayer,
                                 .routing_bias = true};

// Every layer has an MLP or experts.
constexpr HfFamily kJamba = {.model_type = "jamba",
                             .gated_mlp = true,
                             .needs_kv_heads = true,
                             .hybrid = HybridRule::kPeriods,
                             .mamba_inner_norms = true,
                             .no_positions = true};

constexpr HfFamily kBamba = {.model_type = "bamba",
                             .gated_mlp = true,
                             .needs_kv_heads = true,
                             .hybrid = HybridRule::kIndices,
                             .mamba2 = true,
                             .mamba_state_size = 256,
                             .rope_fraction = 0.5};

// A layer is a mixer, an MLP or experts.
constexpr HfFamily kNemotronH = {.model_type = "nemotron_h",
                                 .needs_kv_heads = true,
                                 .latent_experts = true,
                                 .hybrid = HybridRule::kPattern,
                                 .mamba2 = true,
                                 .mamba_state_size = 128,
                                 .mamba_by_heads = true,
                                 .needs_mamba_groups = true,
                                 .no_positions = true};

constexpr HfFamily kMamba = {.model_type = "mamba",
                             .tied_embeddings = true,
                             .hybrid = HybridRule::kAllLayers,
                             .no_positions = true};

constexpr HfFamily kFamilies[] = {
    kLlama,
    kMistral,
    kQwen2,
    kQwen3,
    kQwen3Moe,
    kQwen3Next,
    kGemma,
    kGemma2,
    kGemma3,
    kDeepseek,
    kDeepseekV2,
    kDeepseekV3,
    kGlm4Moe,
    kGptNeoX,
    kGpt2,
    kGptJ,
    kPhi,
    kOlmo2,
    kGranite,
    kCohere,
    kMinimaxM2,
    kJamba,
    kBamba,
    kNemotronH,
    kMamba,
    Like(kLlama, "apertus",
         [](HfFamily& f) {
           f.gated_mlp = false;
           f.qk_norm = QkNorm::kHead;
         }),
    Like(kLlama, "arcee", [](HfFamily& f) { f.gated_mlp = false; }),
    {.model_type = "bloom",
     .tied_embeddings = true,
     .layer_norm = true,
     .embedding_norm = true,
     .linear_bias = true},
    {.model_type = "chatglm", .gated_mlp = true},
    Like(kCohere, "cohere2",
         [](HfFamily& f) {
           f.sliding_window = SlidingWindowRule::kPeriod;
           f.window_period = 4;
         }),
    // Its norms have no bias.
    {.model_type = "dbrx",
     .gated_mlp = true,
     .needs_kv_heads = true,
     .experts = ExpertRule::kEveryLayer},
    Like(kGlm4Moe, "dots1",
         [](HfFamily& f) {
           f.qk_norm = QkNorm::kHead;
           f.first_dense = 0;
         }),
    Like(kLlama, "ernie4_5", [](HfFamily& f) { f.tied_embeddings = true; }),
    Like(kGlm4Moe, "ernie4_5_moe",
         [](HfFamily& f) { f.tied_embeddings = true; }),
    Like(kOlmo2, "exaone4", [](HfFamily& f) { f.qk_norm = QkNorm::kHead; }),
    // Its norms of time steps, B and C have no weights.
    Like(kMamba, "falcon_mamba",
         [](HfFamily& f) { f.tied_embeddings = false; }),
    {.model_type = "falcon",
     .tied_embeddings = true,
     .layer_norm = true,
     .one_norm_parallel = true,
     .bias_is_linear = true,
     .multi_query = true},
    Like(kGemma3, "gemma4_text",
         [](HfFamily& f) {
           f.dense_beside_experts = true;
           f.sizes = {};
         }),
    Like(kLlama, "glm", [](HfFamily& f) { f.bias_on_output = false; }),
    Like(kLlama, "glm4",
         [](HfFamily& f) {
           f.bias_on_output = false;
           f.extra_norms = 2;
         }),
    Like(kGpt2, "gpt_bigcode", [](HfFamily& f) { f.multi_query = true; }),
    Like(kGpt2, "gpt_neo",
         [](HfFamily& f) {
           f.linear_bias = false;
           f.mlp_bias = true;
           f.output_bias = true;
           f.attention_dropout = f.hidden_dropout = 0;
         }),
    {.model_type = "gpt_oss",
     .gated_mlp = true,
     .linear_bias = true,
     .needs_kv_heads = true,
     .sinks = true,
     .sliding_window = SlidingWindowRule::kPeriod,
     .window_period = 2,
     .experts = ExpertRule::kEveryLayer,
     .router_bias = true},
    Like(kGranite, "granitemoe",
         [](HfFamily& f) { f.experts = ExpertRule::kEveryLayer; }),
    Like(kGranite, "granitemoehybrid",
         [](HfFamily& f) {
           f.hybrid = HybridRule::kTypes;
           f.mamba2 = true;
           f.mamba_state_size = kBamba.mamba_state_size;
         }),
    Like(kLlama, "hunyuan_v1_dense",
         [](HfFamily& f) { f.qk_norm = QkNorm::kHead; }),
    Like(kLlama, "llama4_text",
         [](HfFamily& f) {
           f.experts = ExpertRule::kEveryLayer;
           f.shared_like_routed = true;
           f.qk_norm = QkNorm::kWeightless;
           f.sizes = {};
         }),
    Like(kQwen2, "mimo_v2_flash",
         [](HfFamily& f) {
           f.qkv_bias = false;
           f.routing_bias = true;
           f.experts = ExpertRule::kAfterFirstDense;
           f.first_dense = 0;
         }),
    Like(kMamba, "mamba2",
         [](HfFamily& f) {
           f.mamba2 = true;
           f.mamba_state_size = kNemotronH.mamba_state_size;
           f.needs_mamba_groups = true;
           f.tied_embeddings = false;
         }),
    Like(kLlama, "minicpm", [](HfFamily& f) { f.tied_embeddings = true; }),
    Like(kMinimaxM2, "minimax_m3",
         [](HfFamily& f) { f.qk_norm = QkNorm::kHead; }),
    Like(kMistral, "mixtral",
         [](HfFamily& f) {
           f.experts = ExpertRule::kEveryLayer;
           f.sizes = {};
         }),
    // Its norms have no bias, and its positions are in the scores.
    {.model_type = "mpt", .tied_embeddings = true},
    Like(kLlama, "nemotron",
         [](HfFamily& f) {
           f.gated_mlp = false;
           f.layer_norm = true;
         }),
    Like(kLlama, "olmo", [](HfFamily& f) { f.weightless_norms = true; }),
    Like(kOlmo2, "olmo3",
         [](HfFamily& f) {
           f.sliding_window = SlidingWindowRule::kPeriod;
           f.window_period = 4;
         }),
    Like(kOlmo2, "olmoe",
         [](HfFamily& f) { f.experts = ExpertRule::kEveryLayer; }),
    {.model_type = "opt",
     .tied_embeddings = true,
     .learned_positions = true,
     .extra_positions = 2,
     .layer_norm = true,
     .linear_bias = true,
     .hidden_dropout = 0.1},
    Like(kLlama, "orion", [](HfFamily& f) { f.layer_norm = true; }),
    {.model_type = "phi3",
     .gated_mlp = true,
     .sliding_window = SlidingWindowRule::kAllLayers,
     .sizes = {.layers = 32,
               .hidden_size = 3072,
               .heads = 32,
               .ffn_hidden_size = 8192,
               .vocab_size = 32064}},
    {.model_type = "phimoe",
     .layer_norm = true,
     .gated_mlp = true,
     .bias_on_output = true,
     .sliding_window = SlidingWindowRule::kAllLayers,
     .experts = ExpertRule::kEveryLayer},
    {.model_type = "qwen",
     .gated_mlp = true,
     .half_ffn = true,
     .qkv_bias = true},
    Like(kQwen2, "qwen2_moe",
         [](HfFamily& f) {
           f.experts = ExpertRule::kSparseStep;
           f.shared_gate = true;
         }),
    Like(kQwen3, "qwen3_5_text",
         [](HfFamily& f) {
           f.output_gate = true;
           f.sizes = {};
         }),
    Like(kLlama, "seed_oss", [](HfFamily& f) { f.bias_on_output = false; }),
    {.model_type = "stablelm",
     .layer_norm = true,
     .one_norm_parallel = true,
     .gated_mlp = true},
    {.model_type = "starcoder2",
     .tied_embeddings = true,
     .layer_norm = true,
     .linear_bias = true,
     .needs_kv_heads = true,
     .sliding_window = SlidingWindowRule::kAllLayers,
     .attention_dropout = 0,
     .hidden_dropout = 0},
    Like(kQwen3Moe, "step3p5",
         [](HfFamily& f) {
           f.experts = ExpertRule::kAfterFirstDense;
           f.first_dense = 0;
         }),
};

constexpr HfAlias kAliases[] = {
    {"PanguEmbedded", "llama"},
    {"Yi", "llama"},
    {"aquila", "llama"},
    {"baichuan", "llama"},
    {"codegen", "gptj"},
    {"cwm", "llama"},
    {"deepseek_v32", "deepseek_v3"},
    {"exaone", "llama"},
    {"gemma4_unified_text", "gemma4_text"},
    {"glm4_moe_lite", "deepseek_v3"},
    {"glm4v_text", "glm4"},
    {"glm4v_moe_text", "glm4_moe"},
    {"glm_moe_dsa", "deepseek_v3"},
    {"granitemoeshared", "granitemoe"},
    {"helium", "llama"},
    {"internlm", "llama"},
    {"internlm2", "llama"},
    {"internlm3", "llama"},
    {"kimi_k2", "deepseek_v3"},
    {"llava", "llama"},
    {"llava_llama", "llama"},
    {"llava_mistral", "mistral"},
    {"llava_qwen", "qwen2"},
    {"mimo", "qwen2"},
    {"mimo_v2", "mimo_v2_flash"},
    {"minicpm3", "minicpm"},
    {"minimax_m3_sparse", "minimax_m3"},
    {"minimax_m3_text", "minimax_m3"},
    {"minimax_m3_vl_text", "minimax_m3"},
    {"ministral", "mistral"},
    {"ministral3", "mistral"},
    {"mistral4", "deepseek_v2"},
    {"phi-msft", "phi"},
    {"phi3_v", "phi3"},
    {"phi4mm", "phi3"},
    {"qwen2_5_omni_text", "qwen2"},
    {"qwen2_5_vl", "qwen2"},
    {"qwen2_5_vl_text", "qwen2"},
    {"qwen2_vl", "qwen2"},
    {"qwen2_vl_text", "qwen2"},
    {"qwen3_5_moe_text", "qwen3_next"},
    {"qwen3_omni_moe_text", "qwen3_moe"},
    {"qwen3_vl_moe_text", "qwen3_moe"},
    {"qwen3_vl_text", "qwen3"},
    {"smollm3", "granite"},
    {"step3p7", "step3p5"},
    {"xverse", "llama"},
};

}  // namespace

absl::Span<const HfFamily> HfFamilies() { return kFamilies; }

absl::Span<const HfAlias> HfAliases() { return kAliases; }

}  // namespace tangram
