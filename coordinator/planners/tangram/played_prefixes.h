#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_PREFIXES_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_PREFIXES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "coordinator/planners/tangram/played_suffixes.h"

namespace tangram {

// Joint lower bounds on the atoms in front of a tail, for the latency of a
// microbatch and the busiest stage together. In a pipeline whose stages before
// stage s take l_s seconds for one microbatch, there and back, every stage has
//
//   iteration ≥ l_s + B · passes of s + closing of the first stage,
//
// or more, as the stages behind it fill and drain (PlayedSuffixes),
//
// and a link to the next island that takes x and y seconds there and back has
//
//   iteration ≥ l + x + y + (B − 1) · max(x, y) + closing of the first stage,
//
// with l the latency of all stages before it. So with
//
//   λ(a, U, i, T) = the least latency, closing included, of atoms [0, a) on
//                   exactly the islands U, before a slice on island i, if all
//                   of these are at most T,
//
// a dynamic program adds the last slice [b, a) on island k in U:
//
//   λ(a, U, i, T) = min λ(b, U − k, k, T) + latency + x + y,
//
// over slices that keep to T. λ is kept for levels T_0 < T_1 < … = the limit.
// A prefix that needs more than T_{j−1} has at least the latency of T_j.
//
// The bounds do not know memory. Deterministic. Const functions are
// thread-safe.
class PlayedPrefixes {
 public:
  static constexpr int kLevels = 16;
  using Row = std::array<double, kLevels>;  // [j]: λ of T_j. Falls with j.

  // `slices[a]` end at atom a, and `suffixes` bounds what is behind them. The
  // levels part the range from `least_s`, below which no pipeline is, to
  // `limit_s`.
  PlayedPrefixes(const BoundProblem& problem,
                 absl::Span<const std::vector<SliceBound>> slices,
                 const PlayedSuffixes& suffixes, double least_s,
                 double limit_s);

  // Returns λ(num_atoms, islands, next_island, ·). Infinite where there is no
  // prefix. `next_island` is not in `islands`; that of the end of the model is
  // num_islands. num_atoms > 0.
  const Row& LatencyOf(int num_atoms, uint32_t islands, int next_island) const {
    return rows_[IndexOf(num_atoms, islands, next_island)];
  }
  // Returns T_{j−1}, and 0 for j = 0.
  double SlowerThan(int level) const { return slower_than_s_[level]; }

  // Additions of a slice so far.
  int64_t steps() const { return steps_; }

 private:
  size_t IndexOf(int num_atoms, uint32_t islands, int next_island) const {
    return (static_cast<size_t>(num_atoms) * num_sets_ + islands) *
               (num_islands_ + 1) +
           next_island;
  }
  void SetLevels(double least_s, double limit_s);
  void AddSlices(const BoundProblem& problem,
                 absl::Span<const SliceBound> ending,
                 const PlayedSuffixes& suffixes, std::vector<Row>& last);
  void Connect(const BoundProblem& problem, int num_atoms,
               absl::Span<const Row> last);

  const int num_islands_;
  const uint32_t num_sets_;
  Row levels_s_;
  Row slower_than_s_;
  std::vector<Row> rows_;
  int64_t steps_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_PREFIXES_H_
