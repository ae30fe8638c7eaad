#ifndef TANGRAM_COORDINATOR_COMPOSITION_JOINT_BOUNDS_H_
#define TANGRAM_COORDINATOR_COMPOSITION_JOINT_BOUNDS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/domain/closed_form.h"
#include "common/domain/model_slice.h"
#include "coordinator/composition/candidate.h"
#include "coordinator/composition/compose_pipeline.h"
#include "coordinator/composition/island_kinds.h"

namespace tangram {

// Lower bounds on the time of the atoms before a tail, on the islands that the
// tail does not use, for latency and slowest stage together. They are exact but
// for transfers, memory, and the numbers of stages and GPUs. For slices of the
// candidates that cover atoms [0, a) on different islands of a set U, and use
// those of U that the problem requires, let
//
//   σ(a, U)    = the least slowest stage,
//   λ(a, U, T) = the least latency if no stage takes longer than T.
//
// A dynamic program adds the last slice [b, a) on island i. With m the slowest
// stage and l the latency of its candidates,
//
//   σ(a, U)    = min over b and i in U of max(min m, σ(b, U − i))
//   λ(a, U, T) = min over b and i in U of (min l with m ≤ T) + λ(b, U − i, T).
//
// λ is kept for levels T_0 < T_1 < … = ∞. If the slowest stage is in
// (T_{j−1}, T_j], the latency is at least λ(a, U, T_j). So the time of a
// pipeline whose tail has latency L and slowest stage T is at least
//
//   L + min_j (λ(a, U, T_j) + (B − 1) · max(T, σ(a, U), T_{j−1})).
class JointBounds {
 public:
  // The most bytes of a table.
  static constexpr int64_t kMostBytes = int64_t{16} << 20;

  // Returns the number of steps of the dynamic program, and whether its table
  // takes at most kMostBytes.
  static int64_t Steps(const ComposeProblem& problem, const IslandKinds& kinds);
  static bool IsSmall(const ComposeProblem& problem, const IslandKinds& kinds);

  // `ending_at` holds the pairs of the problem by the atom at which they end.
  // The bounds are tightest for pipelines that take at most `limit_s`.
  JointBounds(const ComposeProblem& problem, const IslandKinds& kinds,
              absl::Span<const std::vector<int>> ending_at, double limit_s);

  // True if should_stop ended the dynamic program, so there are no bounds.
  bool stopped() const { return stopped_; }

  // Returns a lower bound in seconds on the closed form, without exposed
  // synchronisation, of pipelines that end with a tail of this latency and
  // slowest stage, and have atoms [0, num_prefix) on islands of `usable` (a bit
  // each). Infinite: there is none.
  double LeastSeconds(int num_prefix, uint32_t usable, double latency_s,
                      double slowest_s) const {
    const Entry& entry = entries_[RowOf(num_prefix) + kinds_.SetOf(usable)];
    const double stage_s = std::max(slowest_s, entry.slowest_s);
    double least_s = kInfinity;
    // λ falls with the level, so levels up to the stage's are no better than
    // that.
    int first = kLevels - 1;
    while (first > 0 && slower_than_s_[first] > stage_s) --first;
    for (int j = first; j < kLevels; ++j) {
      least_s = std::min(least_s,
                         ClosedFormSeconds(entry.latency_s[j],
                                           std::max(stage_s, slower_than_s_[j]),
                                           num_microbatches_));
    }
    return latency_s + least_s;
  }

 private:
  // With 4, composing 10,240 GPUs takes up to twice as long.
  static constexpr int kLevels = 8;

  // The bounds of one prefix and one set of islands, or of one pair.
  struct Entry {
    double slowest_s = kInfinity;             // σ, or min m.
    std::array<double, kLevels> latency_s{};  // [j]: λ, or min l with m ≤ T_j.
  };

  size_t RowOf(int num_prefix) const { return num_prefix * num_sets_; }
  void SetLevels(const Entry& all, double limit_s);
  Entry LeastOf(const PairCandidates& pair) const;
  // Takes the steps of all pairs: calls extend(least of the pair, entry of
  // U − i before it, entry of U after it) for all sets U with an island i of
  // its kind.
  template <typename Extend>
  void TakeSteps(const ComposeProblem& problem, const IslandKinds& kinds,
                 absl::Span<const std::vector<int>> ending_at,
                 const Extend& extend);

  const int num_microbatches_;
  const size_t num_sets_;
  const IslandKinds kinds_;
  std::array<double, kLevels> levels_s_;       // [j]: T_j
  std::array<double, kLevels> slower_than_s_;  // [j]: T_{j−1}; 0 for j = 0.
  std::vector<Entry> entries_;                 // [prefix][set]
  bool stopped_ = false;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_JOINT_BOUNDS_H_
