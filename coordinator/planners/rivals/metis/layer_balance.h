#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_LAYER_BALANCE_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_LAYER_BALANCE_H_

#include <vector>

#include "absl/types/span.h"

namespace tangram {

// The layer split of Metis (ATC'24): layers are cut into seven equal units,
// which go to stages in proportion to their speed. Reused between calls to save
// allocations. Not thread-safe.
class LayerBalancer {
 public:
  // `weights`: the work of each layer; they add up to 1. If `keep_layers`, a
  // layer that no stage holds most of goes to the stage with most of its units.
  // Otherwise it is lost.
  LayerBalancer(absl::Span<const double> weights, bool keep_layers);

  // Returns the boundaries of the stages: stage s has layers [b[s], b[s + 1]).
  // A stage may be empty. `capacities`: the share of the work that each stage
  // wants. Valid until the next call. O(layers · 7 + stages).
  absl::Span<const int> Split(absl::Span<const double> capacities);

 private:
  void FillForwards();
  void FillLastStage();
  void FillGaps();
  void FindExtents();
  void Extend(int unit, int stage);
  void CountLayers();
  void SetResiduals();
  void MoveBoundaries();

  void Give(int unit, int stage) {
    stage_of_unit_[unit] = stage;
    room_[stage] -= unit_work_[unit];
  }
  int num_stages() const { return static_cast<int>(room_.size()); }

  std::vector<double> weights_;
  bool keep_layers_;
  std::vector<double> unit_work_;
  std::vector<double> capacities_;
  std::vector<double> room_;        // Left in each stage.
  std::vector<int> stage_of_unit_;  // -1: nobody's yet.
  // The first and the last unit of a stage. end -1: it has none.
  struct Extent {
    int begin = 0;
    int end = -1;
  };
  std::vector<Extent> extents_;
  std::vector<double> residuals_;  // The same in whole layers.
  std::vector<int> layers_;        // Those that a stage holds, in order.
  std::vector<int> bounds_;        // Indexes layers_.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_METIS_LAYER_BALANCE_H_
