#ifndef TANGRAM_COMMON_COST_MEASURED_LAYER_H_
#define TANGRAM_COMMON_COST_MEASURED_LAYER_H_

#include <optional>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/domain/measurements.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"
#include "common/domain/training_options.h"

// How measured layers override the model.
namespace tangram {

// The key under which DeviceSpec::measured_layers may override a layer:
// dimensions, tp, tp_y and cp degree, sequence length, precision; of a
// transformer layer whether flash attention runs, with experts the ep degree
// and FSEP, with tp sequence parallelism. Biases, learned positions and tied
// embeddings, which hardly take time, do not count.
Fingerprint LayerMeasurementKey(const LayerSpec& layer,
                                const StageParallelism& parallelism,
                                const TrainingOptions& training,
                                bool flash_attention);

// One layer at one batch size.
struct LayerTimes {
  double forward_s = 0;
  double backward_s = 0;
  std::optional<double> saved_bytes;
};

// The measurements of one layer at rising numbers of samples: interpolated
// linearly, beyond the largest at the slope of the last two, which is never
// taken to be negative. Empty below the smallest and beyond the only one.
std::optional<LayerTimes> InterpolateSamples(
    absl::Span<const MeasuredLayer> batches, double samples);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_MEASURED_LAYER_H_
