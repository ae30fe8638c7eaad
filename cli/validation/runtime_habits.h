#ifndef TANGRAM_CLI_VALIDATION_RUNTIME_HABITS_H_
#define TANGRAM_CLI_VALIDATION_RUNTIME_HABITS_H_

#include "absl/strings/string_view.h"
#include "cli/validation/measured_run.h"

namespace tangram {

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
  bool tf32 = false;  // fp32 products run in TF32 on GPUs that have it.
  // If the layers do not divide evenly, the last stages have fewer.
  bool fills_first_stages = false;
  int zero_stage = 0;
  // Factors relative to the fused kernels that the catalogue's constants
  // describe: time of the host to issue a kernel, and rates that element-wise
  // and attention kernels reach.
  double host_factor = 1;
  double elementwise_factor = 1;
  double attention_factor = 1;
  // A tensor that a stage sent stays in memory until the backward pass.
  bool keeps_sent_tensors = false;
  // Bytes of a GPU that the framework takes beside model and activations.
  double buffer_bytes = 0;
  // Elements of gradients that are copied to a buffer at a time to be reduced.
  double reduced_at_once = 0;
  // Host time for each message between nodes and for each iteration.
  double message_s = 0;
  double iteration_s = 0;
};

// Returns the habits of the framework of that name, as released in the year of
// the run. The Megatron-LM family of 2020 to 2022 had neither flash attention
// nor sequence parallelism, and reduced 16-bit gradients after the last
// backward pass. FSDP shards all state. NVIDIA's current releases use the
// distributed optimizer. Unknown names get current habits without sharded
// state.
RuntimeHabits HabitsOf(absl::string_view framework);

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_RUNTIME_HABITS_H_
