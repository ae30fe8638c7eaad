#include "common/cost/parameter_bytes.h"

namespace tangram {
namespace {

constexpr double kFp32Bytes = 4;  // sizeof(float).

}  // namespace

ParameterBytes BytesOfParameter(const TrainingOptions& training) {
  const double element = ElementBytes(training.precision);
  const double master = training.precision == Precision::kFp32 ? 0 : kFp32Bytes;
  const bool adam = training.optimizer == Optimizer::kAdam;
  const double moment = adam && training.bf16_moments ? 2 : kFp32Bytes;
  return {.weight = element,
          .gradient =
              GradientBytes(training) + (training.gradient_copy ? element : 0),
          .optimizer = master + (adam ? 2 : 1) * moment};
}

double GradientBytes(const TrainingOptions& training) {
  return training.fp32_gradients ? kFp32Bytes
                                 : ElementBytes(training.precision);
}

}  // namespace tangram
