#ifndef TANGRAM_COMMON_COST_MEASURED_LAYER_H_
#define TANGRAM_COMMON_COST_MEASURED_LAYER_H_

#include <optional>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/domain/measurements.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"
#include "common/domain/training_options.h"

// Measured layers, and how they override the model.
namespace tangram {

// Returns the key under which DeviceSpec::measured_layers may override a layer.
// It covers dimensions, tp, tp_y and cp degree, sequence length and precision;
// for transformer layers also whether flash attention runs, with experts the ep
// degree and FSEP, and with tp sequence parallelism. It ignores biases, learned
// positions and tied embeddings, which hardly take time.
Fingerprint LayerMeasurementKey(const LayerSpec& layer,
                                const StageParallelism& parallelism,
                                const TrainingOptions& training,
                                bool flash_attention);

// Times of one layer at one batch size.
struct LayerTimes {
  double forward_s = 0;
  double backward_s = 0;
  std::optional<double> saved_bytes;
};

// Interpolates the measurements of one layer, sorted by number of samples,
// linearly. Beyond the largest, extends the slope of the last two, but never a
// negative one. Returns empty below the smallest, and beyond the only one.
std::optional<LayerTimes> InterpolateSamples(
    absl::Span<const MeasuredLayer> batches, double samples);

}  // namespace tangram

#endif  // TANGRAM_COMMON_COST_MEASURED_LAYER_H_
