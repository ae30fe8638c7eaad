#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_SLICE_LAYERS_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_SLICE_LAYERS_H_

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "common/cost/stage_cost.h"
#include "common/domain/model_slice.h"

namespace tangram {

// The layers of a slice, grouped by kind. Equal layers cost the same, so a
// search estimates each kind once. Layers are numbered from the start of the
// slice.
class SliceLayers {
 public:
  explicit SliceLayers(const ModelSlice& slice);

  int size() const { return static_cast<int>(kind_of_.size()); }
  // Returns the distinct layers, in order of first appearance.
  absl::Span<const LayerSpec> kinds() const { return kinds_; }
  int kind_of(int layer) const { return kind_of_[layer]; }
  const LayerSpec& at(int layer) const { return kinds_[kind_of_[layer]]; }

  // Calls `visit(kind, count)` for each run of equal layers in [begin, end).
  template <typename Visitor>
  void ForEachRun(int begin, int end, Visitor&& visit) const {
    while (begin < end) {
      const int run_end = std::min(run_end_[begin], end);
      visit(kind_of_[begin], run_end - begin);
      begin = run_end;
    }
  }

  // Returns the summed cost of the layers [begin, end), each at its kind's
  // cost.
  LayerCost Sum(int begin, int end,
                absl::Span<const LayerCost> cost_by_kind) const;

  // Returns whether all layers of [begin, end), which is not empty, are equal.
  bool AreAlike(int begin, int end) const { return end <= run_end_[begin]; }

  // Returns the begin of an earlier range with the same layers. If all layers
  // of [begin, end) are equal, that is the begin of their run, else `begin`.
  int FirstLike(int begin, int end) const {
    return end <= run_end_[begin] ? run_begin_[begin] : begin;
  }

  // Returns whether [a, a + count) and [b, b + count) are the same layers.
  bool SameLayers(int a, int b, int count) const;

 private:
  std::vector<LayerSpec> kinds_;
  std::vector<int> kind_of_;    // By layer.
  std::vector<int> run_begin_;  // By layer: begin of its run.
  std::vector<int> run_end_;    // By layer: end of its run.
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_SLICE_LAYERS_H_
