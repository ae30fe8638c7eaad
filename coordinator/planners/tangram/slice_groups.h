#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_GROUPS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "coordinator/planners/tangram/played_suffixes.h"

namespace tangram {

// Slices on the same atoms and island, and the least of their bounds.
struct SliceGroup {
  int begin = 0;
  int island = 0;
  double latency_s = kInfinity;
  double busiest_s = kInfinity;
  // The same, with the closing of the slice.
  double closed_latency_s = kInfinity;
  double closed_busiest_s = kInfinity;
  std::vector<int> slices;  // Ascending.

  void Add(int slice, const SliceBound& bound);
};

// The least latency and busiest time of some first atoms on some islands.
struct PrefixBound {
  double latency_s = kInfinity;
  double busiest_s = kInfinity;
};

// Whether other islands can hold the atoms around a slice in time. With l and w
// the least latency and busiest time of the atoms in front of it (PrefixBound),
// on some of the islands U, and
//
//   v(n, U) = 0
//   v(a, U) = min over slices [a, e) on island i in U of
//             max(busiest, latency + v(e, U \ {i})),
//
// a pipeline with slice [b, e) on island i takes at least, over all sets U
// without i and their complements U' without i,
//
//   min over U of max(w(b, U), l(b, U) + max(busiest, latency + v(e, U'))).
//
// Tells islands apart. Const functions are thread-safe.
class AroundSlices {
 public:
  // `ending[a]` are the groups that end at atom a, `prefixes[a][U]` the bounds
  // of atoms [0, a) on exactly the islands U. Both must outlive this object.
  AroundSlices(int num_islands,
               absl::Span<const std::vector<SliceGroup>> ending,
               absl::Span<const std::vector<PrefixBound>> prefixes);

  // Leaves the slices of a group that ends at atom `end` which, by these
  // bounds, are in a pipeline of less than `limit_s`.
  void KeepUseful(int end, double limit_s,
                  absl::FunctionRef<const SliceBound&(int slice)> bound_of,
                  SliceGroup& group) const;

 private:
  const uint32_t all_islands_;
  // [atoms][U]: of U or any part of it.
  std::vector<std::vector<PrefixBound>> before_;
  std::vector<std::vector<double>> behind_s_;  // v.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_GROUPS_H_
