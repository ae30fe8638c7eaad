#include "common/cost/measured_layer.h"

#include <algorithm>

#include "common/cost/collectives.h"
#include "common/cost/operator_work.h"

namespace tangram {
namespace {

// Clears the fields that hardly change a layer's time, so that such layers
// share measurements.
LayerSpec WithoutWhatTakesNoTime(LayerSpec layer) {
  layer.max_position_embeddings = 0;
  layer.tied_embeddings = false;
  layer.linear_bias = false;
  layer.norm_bias = false;
  layer.qkv_bias = false;
  return layer;
}

LayerTimes TimesOf(const MeasuredLayer& layer) {
  return {.forward_s = layer.forward_s,
          .backward_s = layer.backward_s,
          .saved_bytes = layer.saved_bytes};
}

// Evaluates the line through (a.samples, from) and (b.samples, to). Beyond b,
// the slope is not negative.
double OnLine(const MeasuredLayer& a, const MeasuredLayer& b, double from,
              double to, double samples) {
  const double slope = (to - from) / (b.samples - a.samples);
  if (samples > b.samples) {
    return to + std::max(0.0, slope) * (samples - b.samples);
  }
  return from + slope * (samples - a.samples);
}

// Returns all measured batch sizes of one layer.
absl::Span<const MeasuredLayer> BatchesOf(
    absl::Span<const MeasuredLayer> measured, Fingerprint key) {
  const auto first = std::lower_bound(
      measured.begin(), measured.end(), key,
      [](const MeasuredLayer& layer, Fingerprint k) { return layer.key < k; });
  const auto last = std::find_if(
      first, measured.end(),
      [key](const MeasuredLayer& layer) { return layer.key != key; });
  return measured.subspan(first - measured.begin(), last - first);
}

// Sums of the modelled operators of a layer.
struct ModelledLayer {
  double forward_s = 0;
  double backward_s = 0;
  double saved_bytes = 0;
};

// Sums the operators of a layer by the model alone.
ModelledLayer Modelled(const LayerScope& scope, bool with_collectives) {
  ModelledLayer sum;
  for (const OpKind op : OperatorsOf(scope.layer)) {
    const OperatorCost cost = EstimateUncalibrated(scope, op);
    sum.forward_s += cost.forward_s;
    sum.backward_s += cost.backward_s;
    sum.saved_bytes += cost.saved_bytes;
    if (with_collectives) continue;
    sum.forward_s -= cost.forward_comm_s;
    sum.backward_s -= cost.backward_comm_s;
  }
  return sum;
}

double Factor(double measured, double modelled) {
  return modelled > 0 ? measured / modelled : 1;
}

bool SpansNodes(const LayerScope& scope) {
  return SpansNodes(scope.tp_group) || SpansNodes(scope.cp_group) ||
         (scope.layer.is_moe() && SpansNodes(scope.ep_group));
}

// A batch is never slower than a larger one. If it was measured as slower,
// something else ran beside it.
LayerTimes BoundByLarger(LayerTimes times,
                         absl::Span<const MeasuredLayer> larger) {
  for (const MeasuredLayer& batch : larger) {
    times.forward_s = std::min(times.forward_s, batch.forward_s);
    times.backward_s = std::min(times.backward_s, batch.backward_s);
  }
  return times;
}

}  // namespace

Fingerprint LayerMeasurementKey(const LayerSpec& layer,
                                const StageParallelism& parallelism,
                                const TrainingOptions& training,
                                bool flash_attention) {
  Fingerprinter key;
  key.Add(FingerprintOf(WithoutWhatTakesNoTime(layer)))
      .Add(parallelism.tp_degree)
      .Add(parallelism.cp_degree)
      .Add(layer.is_moe() ? parallelism.ep_degree : 1)
      .Add(layer.is_moe() && parallelism.fsep)
      .Add(parallelism.tp_degree > 1 && parallelism.sequence_parallel)
      .Add(training.sequence_length)
      .Add(static_cast<int>(training.precision))
      .Add(layer.kind == LayerKind::kTransformer && flash_attention);
  if (parallelism.tp_y_degree > 1) key.Add(parallelism.tp_y_degree);
  return key.Finish();
}

std::optional<LayerTimes> InterpolateSamples(
    absl::Span<const MeasuredLayer> batches, double samples) {
  const auto above = std::find_if(
      batches.begin(), batches.end(),
      [samples](const MeasuredLayer& b) { return b.samples >= samples; });
  if (above != batches.end() && above->samples == samples) {
    return BoundByLarger(TimesOf(*above),
                         absl::MakeConstSpan(&*above, batches.end() - above));
  }
  if (above == batches.begin() || batches.size() < 2) return std::nullopt;
  const MeasuredLayer& b = above == batches.end() ? batches.back() : *above;
  const MeasuredLayer& a = *(&b - 1);
  LayerTimes times = {
      .forward_s = OnLine(a, b, a.forward_s, b.forward_s, samples),
      .backward_s = OnLine(a, b, a.backward_s, b.backward_s, samples)};
  if (a.saved_bytes.has_value() && b.saved_bytes.has_value()) {
    times.saved_bytes = OnLine(a, b, *a.saved_bytes, *b.saved_bytes, samples);
  }
  return times;
}

// factor = measured / modelled, separately for forward, backward and saved
// bytes.
LayerCalibration CalibrationOf(const LayerScope& scope) {
  const absl::Span<const MeasuredLayer> batches =
      BatchesOf(scope.environment.device.measured_layers,
                LayerMeasurementKey(scope.layer, scope.parallelism,
                                    scope.environment.training,
                                    RunsFlashAttention(scope.environment)));
  if (batches.empty()) return {};
  const bool with_collectives = batches.front().collectives_included;
  // Collectives are measured inside a node.
  if (with_collectives && SpansNodes(scope)) return {};
  LayerScope at = scope;
  std::optional<LayerTimes> times = InterpolateSamples(batches, scope.samples);
  // Outside the measured range, scales the model by its error at the nearest
  // batch.
  if (!times.has_value()) {
    const MeasuredLayer& nearest = batches.front();
    times = BoundByLarger(TimesOf(nearest), batches);
    at.tokens *= nearest.samples / at.samples;
    at.samples = nearest.samples;
  }
  const ModelledLayer modelled = Modelled(at, with_collectives);
  LayerCalibration calibration = {
      .forward = Factor(times->forward_s, modelled.forward_s),
      .backward = Factor(times->backward_s, modelled.backward_s),
      .with_collectives = with_collectives,
      .measured = &batches.front()};
  if (times->saved_bytes.has_value()) {
    calibration.saved = Factor(*times->saved_bytes, modelled.saved_bytes);
  }
  return calibration;
}

}  // namespace tangram
