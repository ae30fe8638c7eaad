#ifndef TANGRAM_COORDINATOR_BOUNDS_SLICE_TABLE_H_
#define TANGRAM_COORDINATOR_BOUNDS_SLICE_TABLE_H_

#include <vector>

#include "absl/types/span.h"
#include "common/domain/model_slice.h"

namespace tangram {

// All contiguous runs of atoms of a model, grouped into classes of the same
// composition (redundancy pruning, paper §5.1 (i)): runs whose atoms have the
// same fingerprints in the same order are parallelized once.
class SliceTable {
 public:
  // With `merge_equal` false every run is a class of its own.
  SliceTable(absl::Span<const ModelSlice> atoms, bool merge_equal);
  // The same from the fingerprints of the atoms.
  SliceTable(absl::Span<const Fingerprint> atoms, bool merge_equal);

  int num_atoms() const { return num_atoms_; }
  int num_classes() const { return static_cast<int>(members_.size()); }

  // Runs in all: n(n + 1) / 2.
  int num_slices() const { return num_atoms_ * (num_atoms_ + 1) / 2; }

  int ClassOf(AtomRange range) const {
    return class_of_[range.begin * (num_atoms_ + 1) + range.end];
  }

  // Where slices of the class stand in the model, by begin. Never empty.
  absl::Span<const AtomRange> MembersOf(int slice_class) const {
    return members_[slice_class];
  }

 private:
  int num_atoms_;
  std::vector<int> class_of_;  // [begin · (n + 1) + end]
  std::vector<std::vector<AtomRange>> members_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_BOUNDS_SLICE_TABLE_H_
