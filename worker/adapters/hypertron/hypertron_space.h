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

// Degrees that the search sets in addition to tp, dp and pp.
inline constexpr ExtraDegrees kHypertronDegrees = {
    .cp = true, .ep = true, .tp_2d = true};

// The points of the search, sorted by depth. pp · dp · cp · tp_x · tp_y is the
// number of GPUs (or close to it, see LayoutsOf); ep divides cp · dp.
class HypertronSpace {
 public:
  HypertronSpace(const IslandSpec& island, const SplitLimits& limits,
                 int num_layers);

  int size() const { return static_cast<int>(points_.size()); }
  const EqualStagesChoice& at(int point) const { return points_[point]; }
  // The points [begin, end) of one number of stages.
  struct Range {
    int begin = 0;
    int end = 0;
  };
  absl::Span<const Range> depths() const { return depths_; }
  // Returns whether all degrees besides tp, dp and pp are 1.
  bool IsPlain(int point) const;

  // Returns the points that differ by one prime factor moved from one degree to
  // another, or by one prime factor more or less of ep.
  absl::Span<const int> NeighboursOf(int point);

 private:
  // Index into Degrees.
  enum Degree { kPp, kDp, kCp, kTpX, kTpY, kEp, kNumDegrees };
  using Degrees = std::array<int, kNumDegrees>;

  static Degrees DegreesOf(const EqualStagesChoice& choice);
  std::vector<int> FindNeighbours(int point) const;

  std::vector<EqualStagesChoice> points_;
  std::vector<Range> depths_;
  std::map<Degrees, int> point_at_;
  std::set<int> primes_;  // Prime factors of the numbers of GPUs in use.
  std::vector<std::vector<int>>
      neighbours_;  // By point; empty until first asked for.
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_HYPERTRON_HYPERTRON_SPACE_H_
