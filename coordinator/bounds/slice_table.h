#ifndef TANGRAM_COORDINATOR_BOUNDS_SLICE_TABLE_H_
#define TANGRAM_COORDINATOR_BOUNDS_SLICE_TABLE_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_slice.h"

namespace tangram {

// All slices of a model, which are its contiguous runs of atoms, grouped into
// classes (redundancy pruning, paper §5.1 (i)). Two slices are in one class if
// their atoms have the same fingerprints in the same order. The slices of
// a class are parallelized once for each island.
class SliceTable {
 public:
  // With `merge_equal` false, every slice is a class of its own.
  SliceTable(absl::Span<const ModelSlice> atoms, bool merge_equal);
  // Takes the fingerprints of the atoms instead.
  SliceTable(absl::Span<const Fingerprint> atoms, bool merge_equal);

  int num_atoms() const { return num_atoms_; }
  int num_classes() const { return static_cast<int>(members_.size()); }

  // Number of slices: n(n + 1) / 2 for n atoms.
  int num_slices() const { return num_atoms_ * (num_atoms_ + 1) / 2; }

  // Returns the class of a slice that is not empty.
  int ClassOf(AtomRange range) const {
    return class_of_[range.begin * (num_atoms_ + 1) + range.end];
  }

  // Returns the slices of the class, ordered by begin. Never empty.
  absl::Span<const AtomRange> MembersOf(int slice_class) const {
    return members_[slice_class];
  }

 private:
  int num_atoms_;
  // [begin · (n + 1) + end]; −1 where end ≤ begin.
  std::vector<int> class_of_;
  std::vector<std::vector<AtomRange>> members_;  // By class.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_BOUNDS_SLICE_TABLE_H_
