#ifndef TANGRAM_CLI_VALIDATION_RUNTIME_HABITS_H_
#define TANGRAM_CLI_VALIDATION_RUNTIME_HABITS_H_

#include "absl/strings/string_view.h"
#include "cli/validation/measured_run.h"

namespace tangram {

// How a training framework runs what a row leaves unsaid.
struct RuntimeHabits {
  absl::string_view precision;  // Empty: what the GPU is usually trained in.
  bool flash_attention = true;
  bool fp32_gradients = true;
  // Gradients of bf16 training stay in bf16, which Megatron-LM refuses.
  bool bf16_gradients = false;
  bool overlap_grad_reduce = true;
  bool blocking_transfers = false;
  bool sequence_parallel = true;  // Where tp_degree > 1.
  bool dropout = false;
  bool fused_loss = false;
  // 16-bit gradients stay beside fp32 sums.
  bool gradient_copy = false;
  bool tf32 = false;  // fp32 products run in TF32 where there are such units.
  // The last stages are left with fewer layers where they do not divide.
  bool fills_first_stages = false;
  int zero_stage = 0;
  // Against the fused kernels that the catalogue's constants are of: how much
  // longer the host takes to issue a kernel, and what fraction of their rate
  // element-wise and attention kernels reach.
  double host_factor = 1;
  double elementwise_factor = 1;
  double attention_factor = 1;
  // What a stage has sent on stays until the backward pass.
  bool keeps_sent_tensors = false;
  // What the framework takes of a GPU beside model and activations.
  double buffer_bytes = 0;
  // Gradients are copied to a buffer to be reduced, this many at a time.
  double reduced_at_once = 0;
  // What the host adds to each message between nodes and to each iteration.
  double message_s = 0;
  double iteration_s = 0;
};

// By the framework's name, as released in the year of the run: the Megatron-LM
// family of 2020 to 2022 had neither flash attention nor sequence parallelism
// and reduced 16-bit gradients after the last backward pass; FSDP shards all
// state; what NVIDIA ships today uses the distributed optimizer. Unknown names
// get today's habits without sharded state.
RuntimeHabits HabitsOf(absl::string_view framework);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_RUNTIME_HABITS_H_
