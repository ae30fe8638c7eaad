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
                                          .host_factor = 3.5};
// LLM-Foundry of 2023 ran FlashAttention-1 in Triton and the fused loss of
// flash-attn.
constexpr RuntimeHabits kComposer = {.fp32_gradients = false,
                                     .bf16_gradients = true,
                                     .sequence_parallel = false,
                                     .fused_loss = true,
                                     .zero_stage = 3,
                                     .attention_factor = 0.45};
// PyTorch FSDP shards all model state; with bf16 weights its gradients are
// bf16.
constexpr RuntimeHabits kFsdp = {.fp32_gradients = false,
                                 .bf16_gradients = true,
                                 .sequence_parallel = false,
                                 .zero_stage = 3};
// Published runs set --use-distributed-optimizer.
constexpr RuntimeHabits kMegatronCore = {.zero_stage = 1};
// NVIDIA's tuned recipes keep and reduce gradients in 16 bits.
constexpr RuntimeHabits kRecipeHabits = {.precision = "fp8",
                                         .fp32_gradients = false,
                                         .bf16_gradients = true,
                                         .fused_loss = true,
                                         .zero_stage = 1};

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
  habits.buffer_bytes = kDeepSpeedBucketBytes;
  return habits;
}

// v1.1.5 of 2020 fused neither bias with GELU nor dropout with addition.
RuntimeHabits Unfused(RuntimeHabits habits) {
  habits.elementwise_factor = 0.45;
  return habits;
}

// Sailor's layer profiles of A100 and GH200 are faster than fp32 units allow,
// so they ran in TF32. Its runtime is a DeepSpeed pipeline engine for stages of
// mixed degrees. It copies the shape of every tensor to the host before the
// tensor itself. The times of message and iteration and the buffers are those
// of its runs on GH200 (2504.17096); its planner assumes 2 to 3 GB.
RuntimeHabits Sailor(RuntimeHabits habits) {
  habits.tf32 = true;
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
      {"Bridge", kRecipeHabits},
      {"NeMo", kRecipeHabits},
      {"Megatron-Core", kMegatronCore},
      {"MCore", kMegatronCore},
      {"Composer", kComposer},
      {"FSDP", kFsdp},
      {"torchtitan", kFsdp},
      {"InternEvo", kMegatronCore},
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
