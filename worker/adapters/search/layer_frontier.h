#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_FRONTIER_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_FRONTIER_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace tangram {

// One way to run a layer. Memory is in units of the caller's choosing.
struct LayerChoice {
  int64_t memory = 0;
  double seconds = 0;
};

inline constexpr LayerChoice kNoLayerChoice = {
    .seconds = std::numeric_limits<double>::infinity()};

// The layer-wise dynamic program over memory of Galvatron (2211.13878):
// each layer is run in one of a few ways, going from one way to another costs
// something, and the time of all layers is to be least within a budget v:
//   F_i(v, s) = min_s' { F_{i−1}(v − m_i(s), s') + x(s', s) } + t_i(s)
//
// For each s, F_i falls in steps as v grows. Only the corners of the steps are
// kept, as labels, instead of a grid over v. So memory may be as fine as bytes,
// one table answers every budget, and a label goes as soon as another needs no
// more memory and stays no slower whatever the next layer does:
//   seconds' + max_q {x(s', q) − x(s, q)} ≤ seconds.
class LayerFrontier {
 public:
  // The cheapest way to run the first layers with the last in one given way and
  // no more memory.
  struct Label {
    int64_t memory = 0;
    double seconds = 0;
    int32_t parent = 0;   // Label of the layers but the last.
    int32_t fastest = 0;  // Of the labels up to this one.
    uint8_t choice = 0;   // Of the last layer.
  };

  // `transition_s` has x(s', s), finite, at [s' · num_choices + s]. Empty: all
  // are 0. At most 256 choices.
  explicit LayerFrontier(int num_choices,
                         std::vector<double> transition_s = {});

  // Adds a layer after the others. What needs more than `memory_limit` with it
  // is dropped.
  void Append(absl::Span<const LayerChoice> choices, int64_t memory_limit);

  int num_layers() const { return static_cast<int>(labels_.size()); }
  // Of the first `num_layers` layers, in order of memory; at least one layer.
  absl::Span<const Label> labels(int num_layers) const {
    return labels_[num_layers - 1];
  }
  // The fastest of them within a budget; none: nothing fits.
  std::optional<int> FastestWithin(int num_layers, int64_t budget) const;
  // The choice of each of the first `num_layers` layers.
  std::vector<uint8_t> ChoicesOf(int num_layers, int label) const;

 private:
  void Extend(uint8_t choice, const LayerChoice& cost, int64_t memory_limit);
  void MergeByMemory();
  void KeepUndominated(std::vector<Label>& kept);

  const int num_choices_;
  const std::vector<double> transition_s_;
  std::vector<double> lead_s_;  // max_q {x(s', q) − x(s, q)}, as x.
  std::vector<std::vector<Label>> labels_;  // By number of layers, less one.
  // Of the layer in hand: labels of one choice after another.
  std::vector<Label> grown_;
  std::vector<int> ends_;
  std::vector<Label> scratch_;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_FRONTIER_H_
