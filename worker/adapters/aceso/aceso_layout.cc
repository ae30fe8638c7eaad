#include "worker/adapters/aceso/aceso_layout.h"

#include <algorithm>

namespace tangram::aceso {
// Returns the index of an equal layer, or appends the layer.
int SliceLayout::KindOf(const LayerSpec& layer) {
  const auto it = std::find(kinds_.begin(), kinds_.end(), layer);
  if (it != kinds_.end()) return static_cast<int>(it - kinds_.begin());
  first_slots_.push_back(first_slots_.back() +
                         static_cast<int>(OperatorsOf(layer).size()));
  kinds_.push_back(layer);
  return num_kinds() - 1;
}

SliceLayout::SliceLayout(const ModelSlice& slice, bool residual_cuts) {
  int layer = 0;
  for (const LayerRun& run : slice.runs) {
    const int kind = KindOf(run.layer);
    const int num_ops = static_cast<int>(OperatorsOf(run.layer).size());
    for (int i = 0; i < run.count; ++i, ++layer) {
      layer_starts_.push_back(static_cast<int>(operators_.size()));
      for (int op = 0; op < num_ops; ++op) {
        if (IsResidualCut(run.layer, op)) {
          residual_before_.push_back(static_cast<int>(operators_.size()));
        } else if (residual_cuts) {
          continue;
        } else {
          residual_before_.push_back(residual_before_.back());
        }
        operators_.push_back({.layer = layer,
                              .index = op,
                              .kind = kind,
                              .slot = first_slots_[kind] + op});
      }
    }
  }
  layer_starts_.push_back(static_cast<int>(operators_.size()));
  residual_before_.push_back(static_cast<int>(operators_.size()));
  operators_.push_back({.layer = layer});

  // The shortest stages that begin or end at a position contain a residual cut:
  //   latest_begin[p + 1] = min(residual cut at or before p + 1, p)
  //   earliest_end[p]     = max(residual cut at or after p, p + 1)
  // Cutting the shortest stages from the end gives the most stages.
  const int end = num_ops();
  latest_begin_.resize(end + 1, 0);
  earliest_end_.resize(end + 1, end);
  residual_after_.resize(end + 1, end);
  for (int p = end - 1; p >= 0; --p) {
    latest_begin_[p + 1] = std::min(residual_before_[p + 1], p);
    residual_after_[p] = residual_before_[p] == p ? p : residual_after_[p + 1];
    earliest_end_[p] = std::max(residual_after_[p], p + 1);
  }
  for (int p = end; p > 0; p = latest_begin_[p]) ++max_stages_;

  layers_of_kind_.resize(kinds_.size());
  for (int l = 0; l < layer; ++l) {
    layers_of_kind_[at(StartOfLayer(l)).kind].push_back(l);
  }
}

}  // namespace tangram::aceso
