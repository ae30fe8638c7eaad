#ifndef TANGRAM_COORDINATOR_COMPOSITION_ISLAND_KINDS_H_
#define TANGRAM_COORDINATOR_COMPOSITION_ISLAND_KINDS_H_

#include <cstdint>
#include <vector>

#include "coordinator/composition/compose_pipeline.h"

namespace tangram {

// Islands are of one kind if their pairs have the same candidates at the same
// positions, and the problem requires all of them or none. But for transfers,
// only the number of islands of each kind matters in a set of islands. With
// n_k islands of kind k there are Π (n_k + 1) such sets; each has an index,
//
//   Σ_k (islands of kind k in the set) · Π_{j<k} (n_j + 1).
class IslandKinds {
 public:
  explicit IslandKinds(const ComposeProblem& problem);

  int num_kinds() const { return static_cast<int>(kinds_.size()); }
  int64_t num_sets() const { return num_sets_; }
  // Returns the kind of an island, and the first island of a kind.
  int KindOf(int island) const { return kind_of_[island]; }
  int FirstOf(int kind) const { return kinds_[kind].first_island; }
  // Returns what one island of the kind, and one more than there are, add to
  // the index of a set: sets have an island of the kind if their index modulo
  // the span is at least the stride.
  int64_t StrideOf(int kind) const { return kinds_[kind].stride; }
  int64_t SpanOf(int kind) const {
    return kinds_[kind].stride * (kinds_[kind].num_islands + 1);
  }
  // Returns the index of a set of islands, a bit each.
  uint32_t SetOf(uint32_t islands) const {
    return of_first_[islands & kFirstMask] + of_rest_[islands >> kNumFirst];
  }

 private:
  static constexpr int kNumFirst = 8;
  static constexpr uint32_t kFirstMask = (uint32_t{1} << kNumFirst) - 1;

  std::vector<uint32_t> SetsOf(int begin, int end) const;

  struct Kind {
    int first_island = 0;
    int num_islands = 0;
    int64_t stride = 1;
  };
  std::vector<Kind> kinds_;
  std::vector<int> kind_of_;  // [island]
  // The indices of sets of the first kNumFirst islands, and of the others.
  std::vector<uint32_t> of_first_;
  std::vector<uint32_t> of_rest_;
  int64_t num_sets_ = 1;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_ISLAND_KINDS_H_
