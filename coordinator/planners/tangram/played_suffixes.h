#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_SUFFIXES_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_SUFFIXES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/domain/model_slice.h"

namespace tangram {

// The figures of one slice plan at one position in the model, on an island,
// that hold wherever the rest of the pipeline runs. With t_s the passes of
// stage s for one microbatch, B microbatches, and l_s and r_s the latency of
// the stages before and behind it in the slice, transfers included; in seconds:
struct SliceBound {
  AtomRange atoms;
  int island = 0;
  int num_stages = 0;
  double latency_s = 0;  // One microbatch through all stages, and back.
  double busiest_s = 0;  // max_s (l_s + B · t_s).
  // The stage s with the greatest has t_s, l_s, r_s, and so many stages from it
  // to the last.
  double stage_s = 0;
  double before_s = 0;
  double behind_s = 0;
  int stages_to_end = 1;
  // Gradient reduction and optimizer step of the first stage.
  double closing_s = 0;
};

// A problem of islands, as PlayedPrefixes and PlayedSuffixes see it.
struct BoundProblem {
  int num_atoms = 0;
  int num_islands = 0;
  int num_microbatches = 1;  // B.
  // Whether sets of islands are told apart. Else sets are 0 everywhere, and an
  // island may hold several slices. At most 31 islands if they are.
  bool tells_islands = true;
  // Returns lower bounds in seconds on the transfers of a microbatch across the
  // boundary before `atom`, there and back. Empty: 0.
  std::function<std::pair<double, double>(int atom, int from_island,
                                          int to_island)>
      least_transfers;

  uint32_t num_sets() const {
    return tells_islands ? uint32_t{1} << num_islands : 1;
  }
  uint32_t SetOf(int island) const {
    return tells_islands ? uint32_t{1} << island : 0;
  }
  // Returns least_transfers, or 0.
  std::pair<double, double> TransfersAt(int atom, int from_island,
                                        int to_island) const {
    if (!least_transfers) return {0, 0};
    return least_transfers(atom, from_island, to_island);
  }
};

// Returns a row, an array of seconds, with the same in all places.
template <typename Row>
Row RowOf(double seconds) {
  Row row;
  row.fill(seconds);
  return row;
}

// Lower bounds on what is behind a slice: by the number of stages, the least
// latency of the other atoms for one microbatch, there and back, transfers
// included. A dynamic program over (first atom, islands in use, island before
// it) adds one slice. Deterministic. Const functions are thread-safe.
class PlayedSuffixes {
 public:
  // With so many stages or more, they are not told apart.
  static constexpr int kMostStages = 16;
  using Row = std::array<double, kMostStages + 1>;  // [stages]

  // `slices[a]` begin at atom a.
  PlayedSuffixes(const BoundProblem& problem,
                 absl::Span<const std::vector<SliceBound>> slices);

  // Returns the least latencies of the atoms from `atom` on, in seconds, if
  // `used` islands hold the atoms before them, the last ones `before`.
  // Infinite: there is none.
  const Row& LatencyOf(int atom, uint32_t used, int before) const {
    return rows_[IndexOf(atom, used, before)];
  }

  // Returns a lower bound in seconds on the passes of the busiest stage of
  // `slice`, and of all stages before it in the slice, whatever is behind it.
  // `used`: the islands of the slice and of the atoms before it. With n stages
  // behind the slice that take R, c stages from the stage to the end of the
  // slice, and r behind it, a stage with t = f + b has at most n + c
  // microbatches in flight (PrependStage):
  //
  //   passes ≥ (B + 1 − n − c) t + 2 (r + R)      if n + c < B,
  //   passes ≥ t + r + R + (B − 1) t / 2          else.
  double BusiestSeconds(const SliceBound& slice, uint32_t used) const;

  // Additions of a slice so far.
  int64_t steps() const { return steps_; }

 private:
  size_t IndexOf(int atom, uint32_t used, int before) const {
    return (static_cast<size_t>(atom) * num_sets_ + used) * num_islands_ +
           before;
  }

  const int num_islands_;
  const uint32_t num_sets_;
  const int num_microbatches_;
  std::vector<Row> rows_;
  int64_t steps_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_SUFFIXES_H_
