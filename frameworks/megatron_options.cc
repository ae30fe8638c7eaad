#include "frameworks/megatron_options.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "frameworks/megatron_hybrid.h"
#include "frameworks/model_details.h"

namespace tangram {
namespace {

class OptionList {
 public:
  void Flag(const char* name) { options_.push_back({name, ""}); }
  template <typename T>
  void Add(const char* name, const T& value) {
    options_.push_back({name, absl::StrCat(value)});
  }
  std::vector<MegatronOption> Take() { return std::move(options_); }

 private:
  std::vector<MegatronOption> options_;
};

// Returns a layer without the fields that may differ between a model's layers.
LayerSpec CommonPart(LayerSpec layer) {
  layer.sliding_window = 0;
  layer.ffn_hidden_size = 0;
  layer.num_experts = 0;
  layer.experts_per_token = 0;
  layer.expert_ffn_hidden_size = 0;
  layer.shared_expert_ffn_hidden_size = 0;
  layer.expert_latent_size = 0;
  layer.expert_capacity_factor = 0;
  layer.expert_group_tokens = 0;
  return layer;
}

// The first layer with a dense MLP, the first with experts, and the first with
// each mixer; null if there is none.
struct LayerKinds {
  const LayerSpec* dense = nullptr;
  const LayerSpec* moe = nullptr;
  const LayerSpec* attention = nullptr;
  const LayerSpec* mamba = nullptr;
  const LayerSpec* any() const { return dense != nullptr ? dense : moe; }
};

absl::StatusOr<LayerKinds> FindHybridKinds(const ModelSpec& model) {
  TANGRAM_RETURN_IF_ERROR(CheckHybridModel(model));
  LayerKinds kinds;
  for (int l = model.num_layers() - 2; l >= 1; --l) {
    const LayerSpec& layer = model.layers[l];
    if (layer.is_mamba()) kinds.mamba = &layer;
    if (layer.mixer == MixerKind::kAttention) kinds.attention = &layer;
    if (!layer.no_mlp) (layer.is_moe() ? kinds.moe : kinds.dense) = &layer;
  }
  return kinds;
}

absl::StatusOr<LayerKinds> FindKinds(const ModelSpec& model) {
  if (model.is_hybrid()) return FindHybridKinds(model);
  LayerKinds kinds;
  for (int l = 0; l < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    if (layer.kind != LayerKind::kTransformer) continue;
    const LayerSpec*& first = layer.is_moe() ? kinds.moe : kinds.dense;
    if (first == nullptr) first = &layer;
    LayerSpec like_first = layer;
    like_first.sliding_window = first->sliding_window;
    if (like_first == *first && CommonPart(layer) == CommonPart(*kinds.any())) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("model.layers[", l,
                     "]: other dimensions than the layers before; expected one "
                     "kind of dense layer and one of experts"));
  }
  kinds.attention = kinds.any();
  if (kinds.any() != nullptr) return kinds;
  return absl::InvalidArgumentError(
      "model.layers: no transformer layer; expected at least one");
}

// Adds heads and latent ranks. Megatron-LM's qk_head_dim excludes the rotary
// part.
void AddAttention(const LayerSpec& layer, OptionList& options) {
  options.Add("num_attention_heads", layer.num_heads);
  if (layer.kv_lora_rank > 0) {
    options.Flag("multi_latent_attention");
    if (layer.q_lora_rank > 0) options.Add("q_lora_rank", layer.q_lora_rank);
    options.Add("kv_lora_rank", layer.kv_lora_rank);
    options.Add("qk_head_dim", layer.head_dim - layer.rope_head_dim);
    options.Add("qk_pos_emb_head_dim", layer.rope_head_dim);
    options.Add("v_head_dim", layer.value_head_dim);
  } else {
    options.Add("kv_channels", layer.head_dim);
    if (layer.num_kv_heads != layer.num_heads) {
      options.Flag("group_query_attention");
      options.Add("num_query_groups", layer.num_kv_heads);
    }
  }
  if (layer.qkv_bias && !layer.linear_bias) options.Flag("add_qkv_bias");
  if (layer.qk_norm) options.Flag("qk_layernorm");
}

// Writes a pattern such as "([0]*3+[1]*58)": 1 for layers where `is` holds.
// --moe-layer-freq evaluates it with eval().
template <typename Predicate>
std::string LayerPattern(const ModelSpec& model, Predicate is) {
  std::string pattern;
  int count = 0;
  bool current = false;
  const auto append = [&] {
    if (count == 0) return;
    absl::StrAppend(&pattern, pattern.empty() ? "(" : "+", "[", current ? 1 : 0,
                    "]*", count);
  };
  for (const LayerSpec& layer : model.layers) {
    if (layer.kind != LayerKind::kTransformer) continue;
    if (count > 0 && is(layer) != current) {
      append();
      count = 0;
    }
    current = is(layer);
    ++count;
  }
  append();
  return pattern + ")";
}

void AddExperts(const ModelSpec& model, const LayerKinds& kinds,
                OptionList& options) {
  const LayerSpec& moe = *kinds.moe;
  options.Add("num_experts", moe.num_experts);
  options.Add("moe_router_topk", moe.experts_per_token);
  options.Add("moe_ffn_hidden_size", moe.expert_ffn_hidden_size);
  if (moe.shared_expert_ffn_hidden_size > 0) {
    options.Add("moe_shared_expert_intermediate_size",
                moe.shared_expert_ffn_hidden_size);
  }
  if (moe.expert_latent_size > 0) {
    options.Add("moe_latent_size", moe.expert_latent_size);
  }
  if (kinds.dense != nullptr && !model.is_hybrid()) {
    options.Add("moe_layer_freq", LayerPattern(model, [](const LayerSpec& l) {
                  return l.is_moe();
                }));
  }
  if (moe.expert_capacity_factor > 0) {
    options.Add("moe_expert_capacity_factor",
                absl::StrFormat("%.15g", moe.expert_capacity_factor));
    options.Flag("moe_pad_expert_input_to_capacity");
  }
  options.Add("moe_token_dispatcher_type", "alltoall");
}

// Adds the sliding window. Megatron-LM knows one window size, for all layers or
// for those of a pattern.
absl::Status AddWindows(const ModelSpec& model, OptionList& options) {
  int window = 0;
  bool all = true;
  for (int l = 0; l < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    if (layer.kind != LayerKind::kTransformer) continue;
    all &= layer.sliding_window > 0;
    if (layer.sliding_window == 0) continue;
    if (window > 0 && layer.sliding_window != window) {
      return FieldError(
          absl::StrCat("model.layers[", l, "].sliding_window"),
          layer.sliding_window,
          absl::StrCat("one window, ", window, " in the layers before"));
    }
    window = layer.sliding_window;
  }
  if (window == 0) return absl::OkStatus();
  // The numbers of tokens before and after.
  options.Add("window_size", absl::StrCat(window, ",0"));
  if (!all) {
    options.Add("window_attn_skip_freq",
                LayerPattern(model, [](const LayerSpec& l) {
                  return l.sliding_window > 0;
                }));
  }
  return absl::OkStatus();
}

// The pattern of layers is the plan's: see HybridPattern.
void AddMamba(const LayerSpec& layer, OptionList& options) {
  options.Add("mamba_num_heads", layer.mamba.num_heads());
  options.Add("mamba_head_dim", layer.mamba.head_dim);
  options.Add("mamba_num_groups", layer.mamba.groups);
  options.Add("mamba_state_dim", layer.mamba.state_size);
}

// Adds the options of a model that pretrain_hybrid.py builds. It wants heads of
// attention, which go with the degrees, without any attention too.
void AddMixers(const LayerKinds& kinds, OptionList& options) {
  if (kinds.attention != nullptr) {
    AddAttention(*kinds.attention, options);
  } else {
    options.Add("num_attention_heads", kinds.mamba->mamba.num_heads());
  }
  if (kinds.mamba != nullptr) AddMamba(*kinds.mamba, options);
}

void AddVocabulary(const ModelSpec& model, OptionList& options) {
  const LayerSpec& embedding = model.layers.front();
  options.Add("vocab_size", embedding.vocab_size);
  const int positions = embedding.max_position_embeddings;
  if (positions > 0) {
    options.Add("position_embedding_type", "learned_absolute");
    options.Add("max_position_embeddings", positions);
  } else {
    options.Add("position_embedding_type",
                model.details.no_positions ? "none" : "rope");
  }
  if (!embedding.tied_embeddings) {
    options.Flag("untie_embeddings_and_output_weights");
  }
}

// Adds what the model says about its rotary positions, as far as there are
// options for it: see LostDetails.
void AddRope(const ModelSpec& model, OptionList& options) {
  if (model.layers.front().max_position_embeddings > 0 ||
      model.details.no_positions) {
    return;
  }
  const ModelDetails& details = model.details;
  if (details.rope_theta > 0 &&
      details.rope_theta == std::floor(details.rope_theta)) {
    options.Add("rotary_base", DetailText(details.rope_theta));
  }
  if (details.rope_fraction > 0 && details.rope_fraction < 1) {
    options.Add("rotary_percent", DetailText(details.rope_fraction));
  }
  const std::string factor = DetailText(details.rope_scaling.factor);
  switch (MegatronScalingOf(details.rope_scaling)) {
    case MegatronRopeScaling::kLlama3:
      options.Flag("use_rope_scaling");
      options.Add("rope_scaling_factor", factor);
      return;
    case MegatronRopeScaling::kLinear:
      options.Add("rotary_seq_len_interpolation_factor", factor);
      return;
    case MegatronRopeScaling::kNone:
    case MegatronRopeScaling::kOther:
      return;
  }
}

}  // namespace

absl::StatusOr<std::vector<MegatronOption>> MegatronModelOptions(
    const ModelSpec& model) {
  TANGRAM_ASSIGN_OR_RETURN(const LayerKinds kinds, FindKinds(model));
  const LayerSpec& layer = model.layers[1];
  OptionList options;
  if (!model.is_hybrid()) options.Add("num_layers", model.num_layers() - 2);
  options.Add("hidden_size", layer.hidden_size);
  if (kinds.any() != nullptr) {
    options.Add("ffn_hidden_size", kinds.dense != nullptr
                                       ? kinds.dense->ffn_hidden_size
                                       : kinds.moe->expert_ffn_hidden_size);
  }
  AddMixers(kinds, options);
  if (layer.gated_mlp) options.Flag("swiglu");
  // The hybrids without gates are Nemotron-H's, whose MLPs square their ReLU.
  if (model.is_hybrid() && !layer.gated_mlp && kinds.any() != nullptr) {
    options.Flag("squared_relu");
  }
  if (!layer.linear_bias) options.Flag("disable_bias_linear");
  options.Add("normalization", layer.norm_bias ? "LayerNorm" : "RMSNorm");
  if (model.details.norm_epsilon > 0) {
    options.Add("norm_epsilon", DetailText(model.details.norm_epsilon));
  }
  AddVocabulary(model, options);
  AddRope(model, options);
  TANGRAM_RETURN_IF_ERROR(AddWindows(model, options));
  if (kinds.moe != nullptr) AddExperts(model, kinds, options);
  return options.Take();
}

// The kernels for products of all experts at once need compute capability 8,
// the first with bf16. Megatron-LM stops on other GPUs.
std::vector<MegatronOption> MegatronGpuOptions(const PlannedTraining& in) {
  const bool experts = in.model.has_experts();
  const auto has_bf16 = [&](const GpuId& gpu) {
    return in.cluster.nodes[gpu.node].device.peak_flops.bf16 > 0;
  };
  const bool all_have_bf16 =
      absl::c_all_of(in.plan.stages, [&](const PlacedStage& stage) {
        return absl::c_all_of(stage.gpus, has_bf16);
      });
  if (!experts || !all_have_bf16) return {};
  return {{"moe_grouped_gemm", ""}};
}

std::vector<MegatronOption> MegatronTrainingOptions(
    const ModelSpec& model, const TrainingOptions& training) {
  OptionList options;
  const bool bf16 = training.precision == Precision::kBf16 ||
                    training.precision == Precision::kFp8;
  if (training.precision == Precision::kFp16) options.Flag("fp16");
  if (bf16) options.Flag("bf16");
  if (training.precision == Precision::kFp8) {
    options.Add("fp8_format", "hybrid");
  }
  options.Add("optimizer",
              training.optimizer == Optimizer::kAdam ? "adam" : "sgd");
  const DropoutRates dropout = DropoutOf(model, training);
  options.Add("attention_dropout", DetailText(dropout.attention));
  options.Add("hidden_dropout", DetailText(dropout.hidden));
  // "auto" is flash attention if the device supports it.
  options.Add("attention_backend",
              training.flash_attention ? "auto" : "unfused");
  // Megatron-LM sums bf16 gradients in fp32 by default.
  if (training.fp32_gradients) {
    options.Flag("accumulate_allreduce_grads_in_fp32");
  } else if (bf16) {
    options.Flag("grad_reduce_in_bf16");
  }
  if (training.overlap_grad_reduce) options.Flag("overlap_grad_reduce");
  if (training.bf16_moments) {
    options.Flag("use_precision_aware_optimizer");
    options.Add("exp_avg_dtype", "bf16");
    options.Add("exp_avg_sq_dtype", "bf16");
  }
  if (training.fused_loss) options.Flag("cross_entropy_loss_fusion");
  return options.Take();
}

std::vector<std::string> LostUnderMegatron(const PlannedTraining& in) {
  return LostDetails(in.model, in.training,
                     {.rope = true,
                      .linear_scaling = true,
                      .llama3_scaling = true,
                      .norm_epsilon = true,
                      .dropout_rates = true,
                      .expert_capacity = true});
}

}  // namespace tangram
