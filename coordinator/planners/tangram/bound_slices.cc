#include "coordinator/planners/tangram/bound_slices.h"

#include <algorithm>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/insert_non_dominated.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/tangram/simulated_bound.h"

namespace tangram {
namespace {

// Returns the bound of a slice plan, with t_s = forward + backward of one
// microbatch, without transfers. The closing time of a slice is the gradient
// reduction and the optimizer step of its first stage.
BoundSlice BoundOf(absl::Span<const StageTimes> stages, AtomRange atoms,
                   int island, int num_microbatches) {
  absl::InlinedVector<double, 16> stage_s;
  for (const StageTimes& stage : stages) {
    stage_s.push_back(stage.forward_s + stage.backward_s);
  }
  return MakeBoundSlice(atoms, island, stage_s,
                        stages.front().sync_s + stages.front().optimizer_s,
                        num_microbatches);
}

// Returns whether no pipeline becomes faster with `b` in the place of `a`.
bool IsAtMost(const BoundSlice& a, const BoundSlice& b) {
  return a.latency_s <= b.latency_s && a.busiest_s <= b.busiest_s &&
         a.closing_s <= b.closing_s;
}

}  // namespace

// The bound is the least of LeastIterationSeconds over all microbatch sizes.
// The least so far limits the next one, and drops slices that are slower alone.
absl::StatusOr<double> SimulatedLowerBound(const SearchSpace& space,
                                           const PairStore& store,
                                           SliceTimes& times, double limit_s,
                                           PlanObserver& observer) {
  const auto should_stop = [&observer] { return observer.ShouldStop(); };
  double least_s = limit_s;
  for (int m = 0; m < static_cast<int>(space.microbatch_sizes.size()); ++m) {
    std::vector<BoundSlice> slices;
    for (int s = 0; s < space.slices.num_classes(); ++s) {
      if (should_stop()) return absl::CancelledError("planning stopped");
      for (int island = 0; island < space.num_islands(); ++island) {
        const PairId pair{m, s, space.class_of_island[island]};
        // Each one is copied to every position, so only the best are kept.
        std::vector<BoundSlice> best;
        if (store.PlansOf(pair).empty()) continue;
        for (const std::vector<StageTimes>& stages :
             times.TimesOf(pair, island)) {
          const BoundSlice slice =
              BoundOf(stages, {}, island, space.bounds[m].num_microbatches());
          if (slice.busiest_s > least_s) continue;
          InsertNonDominated(slice, IsAtMost, best);
        }
        for (BoundSlice& slice : best) {
          for (const AtomRange& range : space.slices.MembersOf(s)) {
            if (!space.Allows(range, island)) continue;
            slice.atoms = range;
            slices.push_back(slice);
          }
        }
      }
    }
    TANGRAM_ASSIGN_OR_RETURN(
        least_s, LeastIterationSeconds(space.num_atoms(), space.first_alike,
                                       slices, least_s, should_stop));
  }
  return least_s;
}

}  // namespace tangram
