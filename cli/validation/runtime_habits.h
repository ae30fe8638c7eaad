#ifndef TANGRAM_CLI_VALIDATION_RUNTIME_HABITS_H_
#define TANGRAM_CLI_VALIDATION_RUNTIME_HABITS_H_

#include "absl/strings/string_view.h"
#include "cli/validation/measured_run.h"

namespace tangram {

// RuntimeHabits::tp_link_factor of collectives that run beside products. Set on
// Megatron Bridge's runs.
inline constexpr double kHiddenTpLinkFactor = 3;

// How a training framework runs where a row does not say.
struct RuntimeHabits {
  absl::string_view precision;  // Empty: the GPU's usual training precision.
  bool flash_attention = true;
  bool fp32_gradients = true;  // Gradients are summed in fp32.
  // Gradients of bf16 training stay in bf16. Megatron-LM refuses this.
  bool bf16_gradients = false;
  bool overlap_grad_reduce = true;  // Reduction overlaps the backward pass.
  bool blocking_transfers = false;  // Stages wait for their transfers.
  bool sequence_parallel = true;    // Applies if tp_degree > 1.
  bool dropout = false;
  bool fused_loss = false;  // See TrainingOptions::fused_loss.
  // The 16-bit gradients are kept beside their fp32 sums.
  bool gradient_copy = false;
  // If the layers do not divide evenly, the last stages have fewer.
  bool fills_first_stages = false;
  int zero_stage = 0;
  // Benchmarks make the router send every expert equally many tokens.
  bool even_experts = false;
  // Factors relative to the fused kernels that the catalogue's constants
  // describe: time of the host to issue a kernel, and rates that element-wise
  // and attention kernels reach.
  double host_factor = 1;
  double elementwise_factor = 1;
  double attention_factor = 1;
  // The same from Hopper on, beside attention_factor. FlashAttention-1 and -2
  // use tensor cores by the instructions of Ampere, which reach about 0.6 of
  // Hopper's own (FlashAttention-3, 2407.08608 §1; cuDNN uses those).
  double attention_factor_on_hopper = 0.65;
  double elementwise_factor_on_blackwell = 1;
  // Rate of the links inside nodes for the collectives of tp. They run beside
  // the products that need them (Userbuffers of TransformerEngine), so only a
  // part of them shows.
  double tp_link_factor = 1;
  // The head shares the embedding's matrix if the model's does.
  bool ties_embeddings = true;
  // A tensor that a stage sent stays in memory until the backward pass.
  bool keeps_sent_tensors = false;
  // Tensors arrive in a buffer, and each microbatch in flight keeps a copy
  // beside the input of its first layer (DeepSpeed's pipeline engine).
  bool copies_received_tensors = false;
  // Bytes of a GPU that the framework takes beside model and activations.
  double buffer_bytes = 0;
  // Elements of gradients that are copied to a buffer at a time to be reduced.
  double reduced_at_once = 0;
  // Before it steps, the optimizer of fp16 training copies the 16-bit gradients
  // that it owns to fp32 (Apex, Megatron-LM and DeepSpeed).
  bool copies_gradients_to_step = false;
  // The copy is one flat tensor, for which memory that activations have left is
  // too fragmented.
  bool flattens_copied_gradients = false;
  // Host time for each message between nodes and for each iteration.
  double message_s = 0;
  double iteration_s = 0;
};

// Returns the habits of the framework of that name, as released in the year of
// the run. The Megatron-LM family of 2020 to 2022 had neither flash attention
// nor sequence parallelism, and reduced 16-bit gradients after the last
// backward pass. FSDP shards all state. NVIDIA's current releases use the
// distributed optimizer. Unknown names get current habits without sharded
// state, and FlashAttention-2. All software since 2020 runs fp32 products in
// TF32 on GPUs that have it.
RuntimeHabits HabitsOf(absl::string_view framework);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_RUNTIME_HABITS_H_
