#include "formats/config/resize_model.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/field_error.h"

namespace tangram {
namespace {

// Returns the period p with which `layers` continue. Let s(p) be the first
// layer from which on the layers repeat with period p; then s + p layers
// describe the pattern. The result minimises s(p) + p, the smaller p of equals:
// 1 if all layers are equal or only the first few differ, 2 if two kinds
// alternate.
int PeriodOf(absl::Span<const LayerSpec> layers) {
  const int n = static_cast<int>(layers.size());
  int best_period = n;
  int best_length = n;
  for (int p = 1; p < best_length; ++p) {
    int start = n - p;
    while (start > 0 && layers[start - 1] == layers[start - 1 + p]) --start;
    if (start + p < best_length) {
      best_length = start + p;
      best_period = p;
    }
  }
  return best_period;
}

}  // namespace

absl::StatusOr<ModelSpec> ResizeModel(const ModelSpec& model, int num_layers) {
  if (num_layers < 1 || num_layers > kMaxTransformerLayers) {
    return FieldError(
        "num_layers", num_layers,
        absl::StrCat("a positive integer, at most ", kMaxTransformerLayers));
  }
  std::vector<LayerSpec> layers(model.layers.begin() + 1,
                                model.layers.end() - 1);
  if (num_layers == static_cast<int>(layers.size())) return model;
  const int period = PeriodOf(layers);
  while (static_cast<int>(layers.size()) < num_layers) {
    const LayerSpec next = layers[layers.size() - period];
    layers.push_back(next);
  }
  layers.resize(num_layers);

  ModelSpec resized{
      .name = absl::StrCat(model.name, " (", num_layers, " layers)"),
      .layers = {model.layers.front()},
      .details = model.details};
  resized.layers.insert(resized.layers.end(), layers.begin(), layers.end());
  resized.layers.push_back(model.layers.back());
  return resized;
}

}  // namespace tangram
