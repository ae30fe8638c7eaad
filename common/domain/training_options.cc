#include "common/domain/training_options.h"

namespace tangram {

Fingerprint FingerprintOf(const TrainingOptions& options) {
  return Fingerprinter()
      .Add(options.global_batch_size)
      .Add(options.sequence_length)
      .Add(static_cast<int>(options.precision))
      .Add(static_cast<int>(options.optimizer))
      .Add(options.flash_attention)
      .Add(options.dropout)
      .Add(options.fp32_gradients)
      .Add(options.overlap_grad_reduce)
      .Add(options.blocking_transfers)
      .Add(options.buffered_sends)
      .Add(options.gradient_copy)
      .Add(options.bf16_moments)
      .Add(options.fused_loss)
      .Finish();
}

double ElementBytes(Precision precision) {
  // fp8 training keeps activations and weights in 16 bits; only the matrix
  // products run in 8.
  return precision == Precision::kFp32 ? 4 : 2;
}

}  // namespace tangram
