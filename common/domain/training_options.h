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

  bool operator==(const TrainingOptions&) const = default;
};

Fingerprint FingerprintOf(const TrainingOptions& options);

// Bytes of one weight or activation element.
double ElementBytes(Precision precision);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_TRAINING_OPTIONS_H_
