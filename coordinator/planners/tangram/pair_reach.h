#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_REACH_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_REACH_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "coordinator/planners/tangram/pair_store.h"
#include "coordinator/planners/tangram/search_space.h"

namespace tangram {

// How much of the model each island can run in a pipeline that is of use, by
// the answers to a few probes. An island reaches a slice if it has a plan
// within the limit of the question. A larger slice takes longer and more
// memory, so bisection finds the largest slice that an island reaches. A slice
// is then out of reach if it is larger, or so small that the other islands do
// not reach the rest:
//
//   w(S) < u_i   and   w(rest of S) ≤ Σ_{j ≠ i} r_j,
//
// where w is the mean work (WorkBounds), u_i that of the smallest slice beyond
// the reach of island i, and r_j half way between the largest that island j
// reaches and u_j, as slices of equal work differ a little. Slices with the
// last atom are probed apart: as no stage follows them, they need less memory.
//
// This is no proof: the answers of a parallelizer need not be monotone.
class PairReach {
 public:
  // `pairs` are those that may be asked. `space` must outlive the reach.
  PairReach(const SearchSpace& space, absl::Span<const PairId> pairs);

  // Returns the pairs to ask next, in ascending order; none once the reach is
  // known. `has_plans` tells of the pairs returned earlier whether they have a
  // plan.
  std::vector<PairId> NextProbes(
      absl::FunctionRef<bool(const PairId&)> has_plans);

  // Returns whether the pair is within reach. Call it once the reach is known.
  bool Reaches(const PairId& pair) const;

 private:
  // Slices of one kind on one island class at one microbatch size.
  struct Scale {
    struct Step {
      double work = 0;
      PairId pair;
    };
    std::vector<Step> steps;  // By ascending work.
    std::vector<int> asked;   // The last probes, ascending.
    int most = -1;            // The last step known to be reached.
    int beyond = 0;           // The first above that is known not to be.

    // Returns w of the largest slice that is reached, 0 if there is none, and
    // of the smallest beyond.
    double Most() const;
    double Beyond() const;
    double HalfWay() const { return (Most() + Beyond()) / 2; }
  };

  // Whether slices of the class end with the last atom of the model.
  bool IsLast(int slice_class) const {
    return space_->LeastTrailingStages(slice_class) == 0;
  }
  double WorkOf(const PairId& pair) const;
  // Returns the index of the scale of the pair's island and microbatch size.
  size_t ScaleOf(const PairId& pair, bool is_last) const;
  // Returns the mean work that islands other than one of this class reach.
  double OthersReach(const PairId& pair, bool is_last) const;

  const SearchSpace* space_;  // Not owned.
  // [microbatch · island classes + island class] · 2 + is_last.
  std::vector<Scale> scales_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_REACH_H_
