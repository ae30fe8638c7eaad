#ifndef TANGRAM_COMMON_COST_PARAMETER_BYTES_H_
#define TANGRAM_COMMON_COST_PARAMETER_BYTES_H_

#include "common/domain/training_options.h"

namespace tangram {

// Bytes of one parameter. Mixed precision keeps a 16-bit weight and gradient,
// an fp32 master copy and two fp32 moments: 2 + 2 + 12 = 16 with Adam
// (1910.02054 §3.1, and as Aceso measures). fp32 gradients add 2, and a 16-bit
// copy beside them 2 more. 16-bit moments save 4. fp32 training has no master
// copy: 4 + 4 + 8. SGD keeps one moment.
struct ParameterBytes {
  double weight = 0;
  double gradient = 0;
  double optimizer = 0;
};
ParameterBytes BytesOfParameter(const TrainingOptions& training);

// Returns the bytes in which one gradient is kept and reduced.
double GradientBytes(const TrainingOptions& training);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_PARAMETER_BYTES_H_
