#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_MODEL_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_MODEL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/bounds/slice_table.h"
#include "coordinator/planners/tangram/atom_groups.h"

namespace tangram {

// Returns one slice for each group of `atoms`, joined by `source` in O(log of
// the largest group) round trips. Errors: the source's, and kCancelled when
// `observer` says stop.
absl::StatusOr<std::vector<ModelSlice>> JoinGroups(
    std::vector<ModelSlice> atoms, absl::Span<const AtomRange> groups,
    SlicePlanSource& source, PlanObserver& observer);

// Returns the first member of each class of `table`, joined by `source`.
//
// Classes are built by length. With h(n) the greatest power of two below n,
//
//   slice [b, b + n) = [b, b + h(n)) followed by [b + h(n), b + n),
//
// where each part equals the representative of its own class, at another
// position. All classes with the same h(n) are one batch, so the number of
// round trips is the binary logarithm of the number of atoms. CheckJoined
// checks that every answer is "head followed by tail", so any order of joins
// gives the same slice.
absl::StatusOr<std::vector<ModelSlice>> RepresentativeSlices(
    const SliceTable& table, absl::Span<const ModelSlice> atoms,
    SlicePlanSource& source, PlanObserver& observer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_MODEL_H_
