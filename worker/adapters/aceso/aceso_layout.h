#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_LAYOUT_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_LAYOUT_H_

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_slice.h"
#include "common/domain/stage_plan.h"

namespace tangram::aceso {

// One operator of a slice and its place in its layer.
struct LayoutOperator {
  int layer = 0;  // Index of the layer in the slice.
  int index = 0;  // Index in OperatorsOf(layer).
  int kind = 0;   // Index of the layer's LayerSpec in SliceLayout::kinds().
  int slot =
      0;  // Index shared by the same operator of equal layers; see OfKind.
};

// The places of a slice at which stages may begin and end, in order: before any
// operator, or at residual cuts only. Position p is the place before operator
// p, or before half layer p; num_ops() is the end of the slice.
//
// A stage may begin and end at any position, but it must contain a residual
// cut; its two boundaries count. So at most one cut falls strictly inside an
// attention or MLP half. A tensor that skips operators (the residual) then
// crosses at most one stage boundary, which is what Aceso's runtime can run.
class SliceLayout {
 public:
  explicit SliceLayout(const ModelSlice& slice, bool residual_cuts = false);

  int num_ops() const { return static_cast<int>(operators_.size()) - 1; }
  int num_layers() const { return operators_.back().layer; }
  // Returns the distinct layers in order of first appearance.
  const std::vector<LayerSpec>& kinds() const { return kinds_; }
  int num_kinds() const { return static_cast<int>(kinds_.size()); }
  int SlotOf(int kind) const { return first_slots_[kind]; }
  // Returns the part of `by_slot` that belongs to the operators of one kind.
  // `by_slot` has an entry for each operator of each kind.
  template <typename T>
  absl::Span<T> OfKind(int kind, absl::Span<T> by_slot) const {
    return by_slot.subspan(first_slots_[kind],
                           first_slots_[kind + 1] - first_slots_[kind]);
  }

  // Returns the operator after `position`. At num_ops(), the layer is
  // num_layers() and the index is 0.
  const LayoutOperator& at(int position) const { return operators_[position]; }
  OperatorCut CutAt(int position) const {
    return {.layer = at(position).layer, .op = at(position).index};
  }
  int StartOfLayer(int layer) const { return layer_starts_[layer]; }

  // Whether one of the layers [begin, end) is of that kind.
  bool HasKind(int kind, int begin_layer, int end_layer) const {
    const std::vector<int>& layers = layers_of_kind_[kind];
    const auto next =
        std::lower_bound(layers.begin(), layers.end(), begin_layer);
    return next != layers.end() && *next < end_layer;
  }

  // Returns the last residual cut at or before `position`.
  int ResidualCutBefore(int position) const {
    return residual_before_[position];
  }
  // Returns the first residual cut at or after `position`.
  int ResidualCutAfter(int position) const { return residual_after_[position]; }
  // Ends of the shortest stage that begins at `begin`, and begin of the
  // shortest that ends at `end`.
  int EarliestEnd(int begin) const { return earliest_end_[begin]; }
  int LatestBegin(int end) const { return latest_begin_[end]; }

  // Returns the largest number of stages into which the slice can be cut.
  int max_stages() const { return max_stages_; }

 private:
  int KindOf(const LayerSpec& layer);

  std::vector<LayerSpec> kinds_;
  std::vector<int> first_slots_ = {0};
  std::vector<LayoutOperator> operators_;
  std::vector<int> layer_starts_;
  std::vector<std::vector<int>> layers_of_kind_;  // By kind, ascending.
  // By position.
  std::vector<int> residual_before_;
  std::vector<int> residual_after_;
  std::vector<int> earliest_end_;
  std::vector<int> latest_begin_;
  int max_stages_ = 0;
};

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_LAYOUT_H_
