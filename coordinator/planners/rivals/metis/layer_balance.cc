#include "coordinator/planners/rivals/metis/layer_balance.h"

#include <algorithm>

namespace tangram {
namespace {

constexpr int kUnits = 7;      // Parts of a layer.
constexpr int kMostMoves = 3;  // Layers that change stage at the end.

}  // namespace

LayerBalancer::LayerBalancer(absl::Span<const double> weights, bool keep_layers)
    : weights_(weights.begin(), weights.end()),
      keep_layers_(keep_layers),
      stage_of_unit_(weights.size() * kUnits) {
  for (const double weight : weights) {
    unit_work_.insert(unit_work_.end(), kUnits, weight / kUnits);
  }
}

// Each stage but the last takes units in order while they fit. The first that
// does not fit stays nobody's. So do the last layer and the unit before it.
void LayerBalancer::FillForwards() {
  const int end = static_cast<int>(unit_work_.size()) - kUnits - 1;
  int unit = 0;
  for (int stage = 0; stage + 1 < num_stages(); ++stage) {
    for (; unit < end; ++unit) {
      if (room_[stage] <= unit_work_[unit]) {
        ++unit;
        break;
      }
      Give(unit, stage);
    }
  }
}

// The last stage takes the last layer, and units before it while they fit.
void LayerBalancer::FillLastStage() {
  const int stage = num_stages() - 1;
  int taken = 0;
  for (int unit = static_cast<int>(unit_work_.size()) - 1;
       unit >= 0 && stage_of_unit_[unit] < 0; --unit) {
    if (taken >= kUnits && room_[stage] <= unit_work_[unit]) break;
    Give(unit, stage);
    ++taken;
  }
}

// Every other unit, in order, goes to the stage with most room among those
// between its neighbours: from the stage whose units end last before it to the
// stage whose units begin first behind it.
void LayerBalancer::FillGaps() {
  FindExtents();
  const int num_units = static_cast<int>(unit_work_.size());
  for (int unit = 0; unit < num_units; ++unit) {
    if (stage_of_unit_[unit] >= 0) continue;
    int first = 0;
    int last = num_stages() - 1;
    int end_before = -1;
    int begin_behind = num_units;
    for (int stage = 0; stage < num_stages(); ++stage) {
      const Extent& extent = extents_[stage];
      if (extent.end < 0) continue;
      if (extent.end < unit && extent.end > end_before) {
        end_before = extent.end;
        first = stage;
      }
      if (extent.begin > unit && extent.begin < begin_behind) {
        begin_behind = extent.begin;
        last = stage;
      }
    }
    int best = first;
    for (int stage = first; stage <= last; ++stage) {
      if (room_[stage] > room_[best]) best = stage;
    }
    Give(unit, best);
    Extend(unit, best);
  }
}

void LayerBalancer::FindExtents() {
  extents_.assign(num_stages(), Extent());
  for (int unit = 0; unit < static_cast<int>(unit_work_.size()); ++unit) {
    if (stage_of_unit_[unit] >= 0) Extend(unit, stage_of_unit_[unit]);
  }
}

void LayerBalancer::Extend(int unit, int stage) {
  Extent& extent = extents_[stage];
  if (extent.end < 0) extent.begin = unit;
  extent.begin = std::min(extent.begin, unit);
  extent.end = std::max(extent.end, unit);
}

// A layer belongs to the stage that holds most of it.
void LayerBalancer::CountLayers() {
  bounds_.assign(num_stages() + 1, 0);
  residuals_.assign(num_stages(), 0);
  layers_.clear();
  int previous = 0;
  for (int layer = 0; layer < static_cast<int>(weights_.size()); ++layer) {
    const int* const owners = &stage_of_unit_[layer * kUnits];
    int most = 0;
    int owner = -1;
    for (int unit = 0; unit < kUnits; ++unit) {
      const auto held =
          static_cast<int>(std::count(owners, owners + kUnits, owners[unit]));
      if (held > most) {
        most = held;
        owner = owners[unit];
      }
    }
    if (keep_layers_) {
      owner = std::max(owner, previous);
    } else if (2 * most < kUnits) {
      continue;
    }
    previous = owner;
    layers_.push_back(layer);
    ++bounds_[owner + 1];
  }
  for (int stage = 0; stage < num_stages(); ++stage) {
    bounds_[stage + 1] += bounds_[stage];
  }
  SetResiduals();
}

// A stage also counts lost layers between its own.
void LayerBalancer::SetResiduals() {
  for (int stage = 0; stage < num_stages(); ++stage) {
    double work = 0;
    if (bounds_[stage] < bounds_[stage + 1]) {
      const int last = layers_[bounds_[stage + 1] - 1];
      for (int layer = layers_[bounds_[stage]]; layer <= last; ++layer) {
        work += weights_[layer];
      }
    }
    residuals_[stage] = capacities_[stage] - work;
  }
}

// The stage with most room takes a layer of the neighbour with less room, as
// long as the most room does not grow.
void LayerBalancer::MoveBoundaries() {
  const int last = num_stages() - 1;
  if (last == 0) return;
  for (int move = 0; move < kMostMoves; ++move) {
    const auto widest = std::max_element(residuals_.begin(), residuals_.end());
    const int stage = static_cast<int>(widest - residuals_.begin());
    const double most = *widest;
    const bool from_left =
        stage == last ||
        (stage > 0 && residuals_[stage - 1] <= residuals_[stage + 1]);
    const int giver = from_left ? stage - 1 : stage + 1;
    if (bounds_[giver + 1] - bounds_[giver] <= 1) return;
    int& bound = bounds_[from_left ? stage : stage + 1];
    bound += from_left ? -1 : 1;
    const double work = weights_[layers_[from_left ? bound : bound - 1]];
    residuals_[stage] -= work;
    residuals_[giver] += work;
    if (*std::max_element(residuals_.begin(), residuals_.end()) > most) {
      bound -= from_left ? -1 : 1;
      return;
    }
  }
}

absl::Span<const int> LayerBalancer::Split(
    absl::Span<const double> capacities) {
  capacities_.assign(capacities.begin(), capacities.end());
  room_ = capacities_;
  std::fill(stage_of_unit_.begin(), stage_of_unit_.end(), -1);
  FillForwards();
  FillLastStage();
  FillGaps();
  CountLayers();
  MoveBoundaries();
  return bounds_;
}

}  // namespace tangram
