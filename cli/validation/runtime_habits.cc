#include "cli/validation/runtime_habits.h"

#include "absl/strings/match.h"
#include "cli/validation/text_match.h"

namespace tangram {
namespace {

// Megatron-LM and its derivatives before 2023. The host is slow: vTrain's runs
// on one node take 3.55 ms a layer and microbatch for forward, recomputation
// and backward, however small the layer.
constexpr RuntimeHabits kEarlyMegatron = {.flash_attention = false,
                                          .fp32_gradients = false,
                                          .overlap_grad_reduce = false,
                                          .sequence_parallel = false,
                                          .dropout = true,
                                          .host_factor = 3.35,
                                          .copies_gradients_to_step = true};
// LLM-Foundry of 2023 ran FlashAttention-1 in Triton and the fused loss of
// flash-attn.
constexpr RuntimeHabits kComposer = {.fp32_gradients = false,
                                     .bf16_gradients = true,
                                     .sequence_parallel = false,
                                     .fused_loss = true,
                                     .zero_stage = 3,
                                     .attention_factor = 0.42};
// PyTorch FSDP shards all model state; with bf16 weights its gradients are
// bf16.
constexpr RuntimeHabits kFsdp = {.fp32_gradients = false,
                                 .bf16_gradients = true,
                                 .sequence_parallel = false,
                                 .zero_stage = 3};
// TorchTitan's tensor parallelism always splits the sequence, too.
constexpr RuntimeHabits kTorchTitan = {.fp32_gradients = false,
                                       .bf16_gradients = true,
                                       .sequence_parallel = true,
                                       .zero_stage = 3};
// Published runs set --use-distributed-optimizer. TransformerEngine runs the
// attention of cuDNN or FlashAttention-3 on Hopper.
constexpr RuntimeHabits kMegatronCore = {.zero_stage = 1,
                                         .attention_factor_on_hopper = 1};
// InternEvo of 2024 ran FlashAttention-2.
constexpr RuntimeHabits kInternEvo = {.zero_stage = 1};
// NVIDIA's tuned recipes keep and reduce gradients in 16 bits, and their
// benchmarks balance experts by force. Their eager host
// is slower than the kernels of small experts: a microbatch of one sequence of
// Qwen3 30B takes 8.8 ms a layer on a B200.
constexpr RuntimeHabits kRecipesOf2025 = {
    .precision = "fp8",
    .fp32_gradients = false,
    .bf16_gradients = true,
    .fused_loss = true,
    .zero_stage = 1,
    .even_experts = true,
    .host_factor = 2.5,
    .attention_factor_on_hopper = 1,
    .tp_link_factor = kHiddenTpLinkFactor};

// Since 26.06, recipes replay graphs and, on Blackwell, fuse what experts do
// between products: the same plans take 25 to 35 % less time there.
constexpr RuntimeHabits RecipesOf2026() {
  RuntimeHabits habits = kRecipesOf2025;
  habits.host_factor = 0.5;
  habits.elementwise_factor_on_blackwell = 3;
  return habits;
}

struct Framework {
  absl::string_view name;  // Part of the framework column, ignoring case.
  RuntimeHabits habits;
};

// Elements that DeepSpeed reduces or gathers at once by default.
constexpr double kDeepSpeedBucket = 5e8;
// ZeRO's three buckets of 16-bit elements: reducing, filling and gathering.
constexpr double kDeepSpeedBucketBytes = 3 * 2 * kDeepSpeedBucket;

RuntimeHabits WithDeepSpeed(RuntimeHabits habits) {
  habits.fills_first_stages = true;
  habits.gradient_copy = true;
  habits.flattens_copied_gradients = true;
  habits.copies_received_tensors = true;
  habits.buffer_bytes = kDeepSpeedBucketBytes;
  return habits;
}

// v1.1.5 of 2020 fused neither bias with GELU nor dropout with addition, nor
// scaling and masking with softmax. AMP runs it on the pipelines of
// DeepSpeed, which copy gradients to a buffer to reduce them; its
// ds_config.json has them reduced in fp32 (fp32_allreduce) and times each
// transfer, for which the host waits (wall_clock_breakdown).
RuntimeHabits Unfused(RuntimeHabits habits) {
  habits.fp32_gradients = true;
  habits.gradient_copy = true;
  habits.flattens_copied_gradients = true;
  habits.elementwise_factor = 0.53;
  habits.blocking_transfers = true;
  habits.copies_received_tensors = true;
  habits.reduced_at_once = kDeepSpeedBucket;
  return habits;
}

// Sailor's runtime is a DeepSpeed pipeline engine for stages of mixed degrees.
// It copies the shape of every tensor to the host before the tensor itself. The
// times of message and iteration and the buffers are those of its runs on GH200
// (2504.17096); its planner assumes 2 to 3 GB. OPT and GPT-Neo have no dropout
// of attention scores, and their embeddings are no TiedLayerSpec.
RuntimeHabits Sailor(RuntimeHabits habits) {
  habits.dropout = false;
  habits.ties_embeddings = false;
  habits.blocking_transfers = true;
  habits.message_s = 2e-3;
  habits.iteration_s = 60e-3;
  habits.buffer_bytes = 2.5e9;
  habits.reduced_at_once = kDeepSpeedBucket;
  return habits;
}

// Mist's model configurations set both dropouts to 0.
RuntimeHabits WithoutDropout(RuntimeHabits habits) {
  habits.dropout = false;
  return habits;
}

// Waits for the device after each exchange between stages, and keeps the
// tensors at both ends.
RuntimeHabits Blocking(RuntimeHabits habits) {
  habits.blocking_transfers = true;
  habits.keeps_sent_tensors = true;
  return habits;
}

}  // namespace

RuntimeHabits HabitsOf(absl::string_view framework) {
  // The first match counts.
  const Framework frameworks[] = {
      {"Bridge 25.", kRecipesOf2025},
      {"Bridge 26.02", kRecipesOf2025},
      {"Bridge 26.04", kRecipesOf2025},
      {"Bridge", RecipesOf2026()},
      {"NeMo", kRecipesOf2025},
      {"Megatron-Core", kMegatronCore},
      {"MCore", kMegatronCore},
      {"Composer", kComposer},
      {"torchtitan", kTorchTitan},
      {"FSDP", kFsdp},
      {"InternEvo", kInternEvo},
      {"Sailor", Sailor(kEarlyMegatron)},
      {"Megatron-DeepSpeed", WithDeepSpeed(kEarlyMegatron)},
      {"Megatron+DeepSpeed", WithDeepSpeed(kEarlyMegatron)},
      {"v1.1.5", Unfused(kEarlyMegatron)},
      {"DeepSpeed", kEarlyMegatron},
      {"Aceso", Blocking(kEarlyMegatron)},
      {"Megatron", kEarlyMegatron},
      {"Alpa", kEarlyMegatron},
      {"Mist", WithoutDropout(kEarlyMegatron)}};
  for (const Framework& known : frameworks) {
    if (Mentions(framework, known.name)) return known.habits;
  }
  return {};
}

}  // namespace tangram
