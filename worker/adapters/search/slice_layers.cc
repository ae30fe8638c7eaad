#include "worker/adapters/search/slice_layers.h"

namespace tangram {

SliceLayers::SliceLayers(const ModelSlice& slice) {
  for (const LayerRun& run : slice.runs) {
    const auto known = std::find(kinds_.begin(), kinds_.end(), run.layer);
    const int kind = static_cast<int>(known - kinds_.begin());
    if (known == kinds_.end()) kinds_.push_back(run.layer);
    run_begin_.insert(run_begin_.end(), run.count,
                      static_cast<int>(kind_of_.size()));
    kind_of_.insert(kind_of_.end(), run.count, kind);
    run_end_.insert(run_end_.end(), run.count,
                    static_cast<int>(kind_of_.size()));
  }
}

// O(runs of equal layers), not O(layers).
LayerCost SliceLayers::Sum(int begin, int end,
                           absl::Span<const LayerCost> cost_by_kind) const {
  LayerCost sum;
  ForEachRun(begin, end, [&](int kind, int count) {
    AddLayers(cost_by_kind[kind], count, sum);
  });
  return sum;
}

bool SliceLayers::SameLayers(int a, int b, int count) const {
  return std::equal(kind_of_.begin() + a, kind_of_.begin() + a + count,
                    kind_of_.begin() + b);
}

}  // namespace tangram
