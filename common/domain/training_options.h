#ifndef TANGRAM_COMMON_DOMAIN_TRAINING_OPTIONS_H_
#define TANGRAM_COMMON_DOMAIN_TRAINING_OPTIONS_H_

#include "common/base/fingerprint.h"
#include "common/domain/device.h"

namespace tangram {

enum class Optimizer { kAdam, kSgd };

// Options that are the same for every stage and every plan of one training job.
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
  // Reduce the gradients of a layer once the last backward pass has computed
  // them, while the passes of earlier layers run (--overlap-grad-reduce).
  bool overlap_grad_reduce = false;
  // Transfers of large tensors stall both stages, as in DeepSpeed's pipeline
  // engine, instead of overlapping with compute.
  bool blocking_transfers = false;
  // A blocking transfer stalls only the receiver. The sender keeps the data and
  // continues (Aceso's runtime).
  bool buffered_sends = false;
  // The 16-bit gradients of a backward pass stay in memory beside the fp32 sums
  // to which they are added (DeepSpeed's BF16_Optimizer).
  bool gradient_copy = false;
  // Adam keeps its moments in 16 bits (Megatron-LM's precision-aware optimizer,
  // --exp-avg-dtype bf16).
  bool bf16_moments = false;
  // The loss keeps only the 16-bit logits (--cross-entropy-loss-fusion; earlier
  // in Apex and flash-attn). Otherwise it keeps their softmax in fp32.
  bool fused_loss = false;

  bool operator==(const TrainingOptions&) const = default;
};

Fingerprint FingerprintOf(const TrainingOptions& options);

// Bytes of one weight or activation element.
double ElementBytes(Precision precision);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_TRAINING_OPTIONS_H_
