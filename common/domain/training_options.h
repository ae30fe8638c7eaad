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

  bool operator==(const TrainingOptions&) const = default;
};

Fingerprint FingerprintOf(const TrainingOptions& options);

// Bytes of one weight or activation element.
double ElementBytes(Precision precision);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_TRAINING_OPTIONS_H_
