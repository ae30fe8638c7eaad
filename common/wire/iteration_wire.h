#ifndef TANGRAM_COMMON_WIRE_ITERATION_WIRE_H_
#define TANGRAM_COMMON_WIRE_ITERATION_WIRE_H_

#include "absl/status/status.h"
#include "common/wire/field_checks.h"

// The figures of an iteration that evaluations of one and of several pipelines
// share, to messages and back.
namespace tangram {

template <typename Figures, typename Message>
void EncodeIteration(const Figures& figures, Message& message) {
  message.set_iteration_time_s(figures.iteration_time_s);
  message.set_samples_per_s(figures.samples_per_s);
  message.set_tokens_per_s(figures.tokens_per_s);
  message.set_model_flops_utilization(figures.model_flops_utilization);
  message.set_bubble_fraction(figures.bubble_fraction);
}

// Refuses numbers that are not finite.
template <typename Message, typename Figures>
absl::Status DecodeIteration(const Message& message, Figures& figures) {
  figures.iteration_time_s = message.iteration_time_s();
  figures.samples_per_s = message.samples_per_s();
  figures.tokens_per_s = message.tokens_per_s();
  figures.model_flops_utilization = message.model_flops_utilization();
  figures.bubble_fraction = message.bubble_fraction();
  return FirstError(
      {CheckFinite("iteration_time_s", figures.iteration_time_s),
       CheckFinite("samples_per_s", figures.samples_per_s),
       CheckFinite("tokens_per_s", figures.tokens_per_s),
       CheckFinite("model_flops_utilization", figures.model_flops_utilization),
       CheckFinite("bubble_fraction", figures.bubble_fraction)});
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_ITERATION_WIRE_H_
