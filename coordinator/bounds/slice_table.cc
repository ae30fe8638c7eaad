#include "coordinator/bounds/slice_table.h"

#include "absl/container/flat_hash_map.h"
#include "common/base/fingerprint.h"

namespace tangram {
namespace {

std::vector<Fingerprint> FingerprintsOf(absl::Span<const ModelSlice> atoms) {
  std::vector<Fingerprint> fingerprints;
  for (const ModelSlice& atom : atoms) fingerprints.push_back(atom.fingerprint);
  return fingerprints;
}

}  // namespace

SliceTable::SliceTable(absl::Span<const ModelSlice> atoms, bool merge_equal)
    : SliceTable(FingerprintsOf(atoms), merge_equal) {}

// Takes O(n²) steps: the fingerprint of atoms [begin, end) extends that of
// [begin, end − 1) by one atom. Classes are numbered in the order (begin, end)
// of their first slices.
SliceTable::SliceTable(absl::Span<const Fingerprint> atoms, bool merge_equal)
    : num_atoms_(static_cast<int>(atoms.size())),
      class_of_((num_atoms_ + 1) * (num_atoms_ + 1), -1) {
  absl::flat_hash_map<Fingerprint, int> class_by_content;
  for (int begin = 0; begin < num_atoms_; ++begin) {
    Fingerprinter content;
    // The position makes the fingerprints of all slices differ.
    if (!merge_equal) content.Add(begin);
    for (int end = begin + 1; end <= num_atoms_; ++end) {
      content.Add(atoms[end - 1]);
      const auto [it, inserted] = class_by_content.try_emplace(
          content.Finish(), static_cast<int>(members_.size()));
      if (inserted) members_.emplace_back();
      members_[it->second].push_back({begin, end});
      class_of_[begin * (num_atoms_ + 1) + end] = it->second;
    }
  }
}

}  // namespace tangram
