#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_SLICE_LAYERS_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_SLICE_LAYERS_H_

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "common/cost/stage_cost.h"
#include "common/domain/model_slice.h"

namespace tangram {

// The layers of a slice by kind: equal layers cost the same, so a search
// estimates each kind once. A layer is numbered from the start of the slice.
class SliceLayers {
 public:
  explicit SliceLayers(const ModelSlice& slice);

  int size() const { return static_cast<int>(kind_of_.size()); }
  // The different layers, in order of first appearance.
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

  // The layers [begin, end), each at its kind's cost.
  LayerCost Sum(int begin, int end,
                absl::Span<const LayerCost> cost_by_kind) const;

  // Where the first range equal to [begin, end) begins that is known to be: if
  // its layers are all equal, where they start to be; else `begin`.
  int FirstLike(int begin, int end) const {
    return end <= run_end_[begin] ? run_begin_[begin] : begin;
  }

  // Whether [a, a + count) and [b, b + count) are the same layers.
  bool SameLayers(int a, int b, int count) const;

 private:
  std::vector<LayerSpec> kinds_;
  std::vector<int> kind_of_;    // Of each layer.
  std::vector<int> run_begin_;  // Of each layer's run.
  std::vector<int> run_end_;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_SLICE_LAYERS_H_
