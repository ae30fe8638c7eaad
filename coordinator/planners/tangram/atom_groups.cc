#include "coordinator/planners/tangram/atom_groups.h"

#include <algorithm>

#include "coordinator/bounds/slice_table.h"
#include "coordinator/planners/tangram/planning_limits.h"

namespace tangram {
namespace {

// Returns the first and the last atom alone, and the others in chunks of equal
// length. So a model of equal layers keeps almost all of its slices equal.
std::vector<AtomRange> RangesOf(int num_atoms, int atoms_per_group) {
  std::vector<AtomRange> ranges;
  if (atoms_per_group == 1) {
    for (int a = 0; a < num_atoms; ++a) ranges.push_back({a, a + 1});
    return ranges;
  }
  ranges.push_back({0, 1});
  for (int begin = 1; begin < num_atoms - 1; begin += atoms_per_group) {
    ranges.push_back({begin, std::min(begin + atoms_per_group, num_atoms - 1)});
  }
  ranges.push_back({num_atoms - 1, num_atoms});
  return ranges;
}

// Whether the runs of two neighbours join into one.
bool IsOneRun(const AtomOutline& a, const AtomOutline& b) {
  return a.runs == 1 && b.runs == 1 && a.content == b.content;
}

// Returns the outline of one atom that consists of `atoms`.
AtomOutline Joined(absl::Span<const AtomOutline> atoms) {
  if (atoms.size() == 1) return atoms.front();
  Fingerprinter content;
  AtomOutline joined{.runs = 0};
  for (size_t i = 0; i < atoms.size(); ++i) {
    content.Add(atoms[i].content);
    joined.runs += atoms[i].runs;
    if (i > 0 && IsOneRun(atoms[i - 1], atoms[i])) --joined.runs;
  }
  joined.content = content.Finish();
  return joined;
}

// Returns the size of a search over `atoms`. With R(i) the runs that begin in
// atoms [0, i), a slice [b, e) has at most R(e) − R(b) + 1 runs.
SearchSize SizeOf(absl::Span<const AtomOutline> atoms, bool merge_equal,
                  int64_t questions_per_slice) {
  std::vector<Fingerprint> contents;
  // runs[i] = R(i): runs that begin in atoms [0, i) of the joined model.
  std::vector<int64_t> runs = {0};
  for (size_t i = 0; i < atoms.size(); ++i) {
    contents.push_back(atoms[i].content);
    const bool joins = i > 0 && IsOneRun(atoms[i - 1], atoms[i]);
    runs.push_back(runs.back() + atoms[i].runs - (joins ? 1 : 0));
  }
  const SliceTable table(contents, merge_equal);
  SearchSize size{.num_atoms = table.num_atoms(),
                  .num_slices = table.num_classes(),
                  .num_pairs = table.num_classes() * questions_per_slice};
  for (int c = 0; c < table.num_classes(); ++c) {
    const AtomRange range = table.MembersOf(c).front();
    // Plus one, because the first atom of the slice may continue a run.
    size.num_runs += runs[range.end] - runs[range.begin] + 1;
  }
  return size;
}

}  // namespace

bool SearchSize::IsSmall() const {
  return num_pairs <= kMaxPairs && num_runs <= kMaxSliceRuns;
}

std::vector<AtomOutline> OutlinesOf(const ModelSpec& model) {
  std::vector<AtomOutline> outlines;
  for (int i = 0; i < model.num_layers(); ++i) {
    if (i > 0 && model.layers[i] == model.layers[i - 1]) {
      outlines.push_back(outlines.back());
    } else {
      outlines.push_back({.content = FingerprintOf(model.layers[i])});
    }
  }
  return outlines;
}

std::vector<AtomOutline> OutlinesOf(absl::Span<const ModelSlice> atoms) {
  std::vector<AtomOutline> outlines;
  for (const ModelSlice& atom : atoms) {
    outlines.push_back({.content = atom.fingerprint,
                        .runs = static_cast<int64_t>(atom.runs.size())});
  }
  return outlines;
}

// Halves the number of groups until the search is small. For `most` groups of
// n atoms, of which two stay alone, a group has ⌈(n − 2) / (most − 2)⌉ atoms.
AtomGroups GroupAtoms(absl::Span<const AtomOutline> atoms, bool merge_equal,
                      int64_t questions_per_slice) {
  const int num_atoms = static_cast<int>(atoms.size());
  AtomGroups grouped;
  for (int most = kMaxAtoms; most >= kMinAtoms; most /= 2) {
    grouped.atoms_per_group =
        num_atoms <= most ? 1 : (num_atoms - 2 + most - 3) / (most - 2);
    grouped.groups = RangesOf(num_atoms, grouped.atoms_per_group);
    std::vector<AtomOutline> joined;
    for (const AtomRange& range : grouped.groups) {
      joined.push_back(Joined(atoms.subspan(range.begin, range.size())));
    }
    grouped.size = SizeOf(joined, merge_equal, questions_per_slice);
    grouped.is_finest = most == kMaxAtoms && grouped.size.IsSmall();
    if (grouped.size.IsSmall()) break;
  }
  return grouped;
}

}  // namespace tangram
