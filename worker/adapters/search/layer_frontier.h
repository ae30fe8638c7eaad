#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_FRONTIER_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_FRONTIER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/infinity.h"

namespace tangram {

// One way to run a layer. The caller chooses the unit of memory.
struct LayerChoice {
  int64_t memory = 0;
  double seconds = 0;
};

// A choice that the layer does not have.
inline constexpr LayerChoice kNoLayerChoice = {.seconds = kInfinity};

// The layer-wise dynamic program over memory of Galvatron (2211.13878). Each
// layer is run in one of a few ways. Changing from one way to the next costs
// time. The total time is minimised within a memory budget v:
//   F_i(v, s) = min_s' { F_{i−1}(v − m_i(s), s') + x(s', s) } + t_i(s)
//
// For each s, F_i falls in steps as v grows. This keeps only the corners of the
// steps, as labels, instead of a grid over v. So memory can be as fine as
// bytes, and one table answers every budget. A label is dropped if another with
// at most as much memory is no slower whatever the next layer does:
//   seconds' + max_q {x(s', q) − x(s, q)} ≤ seconds.
class LayerFrontier {
 public:
  // The fastest way to run the first layers within some memory, with the last
  // layer in a given way.
  struct Label {
    int64_t memory = 0;
    double seconds = 0;
    int32_t parent = 0;   // Index of the label for all layers but the last.
    int32_t fastest = 0;  // Index of the fastest label up to this one.
    uint8_t choice = 0;   // Choice of the last layer.
  };

  // `transition_s` holds x(s', s), finite, at [s' · num_choices + s]. Empty
  // means all 0. At most 256 choices.
  explicit LayerFrontier(int num_choices,
                         std::vector<double> transition_s = {});

  // Adds a layer after the others. Drops labels that exceed `memory_limit` with
  // it.
  void Append(absl::Span<const LayerChoice> choices, int64_t memory_limit);

  int num_layers() const { return static_cast<int>(labels_.size()); }
  // Returns the labels of the first `num_layers` layers, sorted by memory.
  // `num_layers` is at least 1.
  absl::Span<const Label> labels(int num_layers) const {
    return labels_[num_layers - 1];
  }
  // Returns the index of the fastest label within a budget; none if nothing
  // fits.
  std::optional<int> FastestWithin(int num_layers, int64_t budget) const;
  // Returns the choice of each of the first `num_layers` layers.
  std::vector<uint8_t> ChoicesOf(int num_layers, int label) const;

 private:
  void Extend(uint8_t choice, const LayerChoice& cost, int64_t memory_limit);
  void MergeByMemory();
  void KeepUndominated(std::vector<Label>& kept);

  const int num_choices_;
  const std::vector<double> transition_s_;
  std::vector<double> lead_s_;  // max_q {x(s', q) − x(s, q)}, indexed like x.
  std::vector<std::vector<Label>> labels_;  // By number of layers minus 1.
  // For the layer being added: labels grouped by choice, and the end of each
  // group.
  std::vector<Label> grown_;
  std::vector<int> ends_;
  std::vector<Label> scratch_;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_LAYER_FRONTIER_H_
