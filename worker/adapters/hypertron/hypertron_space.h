#ifndef TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SPACE_H_
#define TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SPACE_H_

#include <array>
#include <map>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "worker/adapters/search/equal_stages_evaluator.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram {

// Degrees that the search sets besides tp, dp and pp.
inline constexpr ExtraDegrees kHypertronDegrees = {
    .cp = true, .ep = true, .tp_2d = true};

// The points that the search walks over, in order of depth: pp · dp · cp · tp_x
// · tp_y is the number of GPUs (or near it, see LayoutsOf), ep divides cp · dp.
class HypertronSpace {
 public:
  HypertronSpace(const IslandSpec& island, const SplitLimits& limits,
                 int num_layers);

  int size() const { return static_cast<int>(points_.size()); }
  const EqualStagesChoice& at(int point) const { return points_[point]; }
  // The points [begin, end) of each number of stages.
  struct Range {
    int begin = 0;
    int end = 0;
  };
  absl::Span<const Range> depths() const { return depths_; }
  // Of tp, dp and pp alone.
  bool IsPlain(int point) const;

  // Points that a prime factor of one degree leads to, given to another; of
  // ep, given or taken alone.
  absl::Span<const int> NeighboursOf(int point);

 private:
  enum Degree { kPp, kDp, kCp, kTpX, kTpY, kEp, kNumDegrees };
  using Degrees = std::array<int, kNumDegrees>;

  static Degrees DegreesOf(const EqualStagesChoice& choice);
  std::vector<int> FindNeighbours(int point) const;

  std::vector<EqualStagesChoice> points_;
  std::vector<Range> depths_;
  std::map<Degrees, int> point_at_;
  std::set<int> primes_;                      // Of the numbers of GPUs.
  std::vector<std::vector<int>> neighbours_;  // Empty: not found yet.
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SPACE_H_
