#include "common/wire/training_wire.h"

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "tangram/v1/training.pb.h"

namespace tangram {
namespace {

using Wire = v1::TrainingOptions;

Wire::Precision ToProto(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return Wire::FP32;
    case Precision::kFp16:
      return Wire::FP16;
    case Precision::kBf16:
      return Wire::BF16;
    case Precision::kFp8:
      return Wire::FP8;
  }
  return Wire::PRECISION_UNSPECIFIED;
}

Wire::Optimizer ToProto(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdam:
      return Wire::ADAM;
    case Optimizer::kSgd:
      return Wire::SGD;
  }
  return Wire::OPTIMIZER_UNSPECIFIED;
}

absl::StatusOr<Precision> FromProto(Wire::Precision precision) {
  for (const Precision known : {Precision::kFp32, Precision::kFp16,
                                Precision::kBf16, Precision::kFp8}) {
    if (ToProto(known) == precision) return known;
  }
  return FieldError("precision", absl::StrCat(static_cast<int>(precision)),
                    "FP32, FP16, BF16 or FP8");
}

absl::StatusOr<Optimizer> FromProto(Wire::Optimizer optimizer) {
  for (const Optimizer known : {Optimizer::kAdam, Optimizer::kSgd}) {
    if (ToProto(known) == optimizer) return known;
  }
  return FieldError("optimizer", absl::StrCat(static_cast<int>(optimizer)),
                    "ADAM or SGD");
}

}  // namespace

v1::TrainingOptions ToProto(const TrainingOptions& training) {
  v1::TrainingOptions message;
  message.set_global_batch_size(training.global_batch_size);
  message.set_sequence_length(training.sequence_length);
  message.set_precision(ToProto(training.precision));
  message.set_optimizer(ToProto(training.optimizer));
  message.set_flash_attention(training.flash_attention);
  message.set_no_dropout(!training.dropout);
  message.set_fp32_gradients(training.fp32_gradients);
  message.set_overlap_grad_reduce(training.overlap_grad_reduce);
  message.set_blocking_transfers(training.blocking_transfers);
  message.set_buffered_sends(training.buffered_sends);
  message.set_gradient_copy(training.gradient_copy);
  message.set_bf16_moments(training.bf16_moments);
  message.set_fused_loss(training.fused_loss);
  return message;
}

absl::StatusOr<TrainingOptions> FromProto(const v1::TrainingOptions& message) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckPositive("global_batch_size",
                                message.global_batch_size(), kMaxBatch),
                  CheckPositive("sequence_length", message.sequence_length(),
                                kMaxPositions)}));
  TrainingOptions training{.global_batch_size = message.global_batch_size(),
                           .sequence_length = message.sequence_length(),
                           .flash_attention = message.flash_attention(),
                           .dropout = !message.no_dropout(),
                           .fp32_gradients = message.fp32_gradients(),
                           .overlap_grad_reduce = message.overlap_grad_reduce(),
                           .blocking_transfers = message.blocking_transfers(),
                           .buffered_sends = message.buffered_sends(),
                           .gradient_copy = message.gradient_copy(),
                           .bf16_moments = message.bf16_moments(),
                           .fused_loss = message.fused_loss()};
  TANGRAM_ASSIGN_OR_RETURN(training.precision, FromProto(message.precision()));
  TANGRAM_ASSIGN_OR_RETURN(training.optimizer, FromProto(message.optimizer()));
  return training;
}

int PrecisionToWire(Precision precision) { return ToProto(precision); }

absl::StatusOr<Precision> PrecisionFromWire(int precision) {
  return FromProto(static_cast<Wire::Precision>(precision));
}

}  // namespace tangram
