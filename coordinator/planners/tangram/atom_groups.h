#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ATOM_GROUPS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ATOM_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/domain/model_slice.h"
#include "common/domain/model_spec.h"

namespace tangram {

// The properties of an atom that decide the size of a search.
struct AtomOutline {
  Fingerprint content = 0;  // Equal for equal atoms.
  int64_t runs = 1;         // Number of runs of equal layers.
};

// Return one outline per atom. For a model, every layer is an atom, which is
// how the built-in parallelizers cut it.
std::vector<AtomOutline> OutlinesOf(const ModelSpec& model);
std::vector<AtomOutline> OutlinesOf(absl::Span<const ModelSlice> atoms);

// The size of a search over a sequence of atoms.
struct SearchSize {
  int num_atoms = 0;
  int64_t num_slices = 0;  // Distinct slices, if equal ones are merged.
  int64_t num_pairs = 0;   // num_slices · islands · microbatch sizes.
  int64_t num_runs = 0;    // Upper bound on runs, over all slices.
  bool IsSmall() const;    // Within kMaxPairs and kMaxSliceRuns.
};

// Neighbouring atoms that the search moves together. Groups are as fine as the
// limits of planning_limits.h allow: single atoms for every model in use. The
// first and the last atom of the model stay alone. All other groups have the
// same number of atoms, except that the group before the last may have fewer.
struct AtomGroups {
  std::vector<AtomRange> groups;  // Ranges of the given atoms, in order.
  int atoms_per_group = 1;
  bool is_finest = false;  // Fewer questions would not give finer groups.
  SearchSize size;
};

// Returns the finest groups within the limits. `questions_per_slice` is islands
// times microbatch sizes. `merge_equal` says whether equal slices are asked
// once. Takes O(atoms + kMaxAtoms²) steps.
AtomGroups GroupAtoms(absl::Span<const AtomOutline> atoms, bool merge_equal,
                      int64_t questions_per_slice);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ATOM_GROUPS_H_
