#ifndef TANGRAM_COMMON_DOMAIN_TRAINING_OPTIONS_H_
#define TANGRAM_COMMON_DOMAIN_TRAINING_OPTIONS_H_

#include "common/base/fingerprint.h"
#include "common/domain/device.h"

namespace tangram {

enum class Optimizer { kAdam, kSgd };

// What is the same for every stage and every plan of one training job.
struct TrainingOptions {
  int global_batch_size = 0;  // Sequences per iteration.
  int sequence_length = 0;    // Tokens per sequence.
  Precision precision = Precision::kFp16;
  Optimizer optimizer = Optimizer::kAdam;
  // Use flash attention on devices that support it.
  bool flash_attention = true;
  // Dropout on the embedding, on attention scores that are not fused, and
  // before each residual addition. GPT-3 was trained with it, Llama was not.
  bool dropout = true;
  // Keep and reduce gradients in fp32 (Megatron-LM's
  // --accumulate-allreduce-grads-in-fp32).
  bool fp32_gradients = false;
  // Reduce the gradients of a layer as soon as the last backward pass has them,
  // beside the passes of the layers before it (--overlap-grad-reduce).
  bool overlap_grad_reduce = false;
  // Stages stand still while they hand a large tensor to each other, as under
  // DeepSpeed's pipeline engine, instead of computing beside the transfer.
  bool blocking_transfers = false;
  // Of transfers that block, only the receiver stands still: the sender keeps
  // what it sends and goes on (Aceso's runtime).
  bool buffered_sends = false;
  // The 16-bit gradients of a backward pass stay in memory beside the fp32 sums
  // to which they are added (DeepSpeed's BF16_Optimizer).
  bool gradient_copy = false;
  // Adam keeps its moments in 16 bits (Megatron-LM's precision-aware optimizer,
  // --exp-avg-dtype bf16).
  bool bf16_moments = false;
  // The loss keeps the 16-bit logits alone (--cross-entropy-loss-fusion, and
  // Apex and flash-attn before it); otherwise their softmax in fp32.
  bool fused_loss = false;

  bool operator==(const TrainingOptions&) const = default;
};

Fingerprint FingerprintOf(const TrainingOptions& options);

// Bytes of one weight or activation element.
double ElementBytes(Precision precision);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_TRAINING_OPTIONS_H_
