#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ATOM_GROUPS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ATOM_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/domain/model_slice.h"
#include "common/domain/model_spec.h"

namespace tangram {

// What the size of a search depends on in an atom.
struct AtomOutline {
  Fingerprint content = 0;  // Equal for equal atoms.
  int64_t runs = 1;         // Of equal layers.
};

// One atom a layer: how the parallelizers here cut a model.
std::vector<AtomOutline> OutlinesOf(const ModelSpec& model);
std::vector<AtomOutline> OutlinesOf(absl::Span<const ModelSlice> atoms);

// How large a search over some atoms is.
struct SearchSize {
  int num_atoms = 0;
  int64_t num_slices = 0;  // Different ones, if equal slices are merged.
  int64_t num_pairs = 0;   // The same, times islands and microbatch sizes.
  int64_t num_runs = 0;    // At most, over all different slices.
  bool IsSmall() const;    // Within kMaxPairs and kMaxSliceRuns.
};

// Neighbouring atoms that the search moves together. Groups are as fine as the
// limits of planning_limits.h allow: single atoms for every model in use. All
// groups have the same number of atoms, but for the first and the last atom of
// the model, which stay alone, and the group before the last.
struct AtomGroups {
  std::vector<AtomRange> groups;  // Ranges of the atoms given, in order.
  int atoms_per_group = 1;
  SearchSize size;
};

// `questions_per_slice`: islands times microbatch sizes. `merge_equal`: whether
// equal slices are asked once. Takes O(atoms + kMaxAtoms²).
AtomGroups GroupAtoms(absl::Span<const AtomOutline> atoms, bool merge_equal,
                      int64_t questions_per_slice);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ATOM_GROUPS_H_
