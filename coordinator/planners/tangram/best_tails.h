#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_BEST_TAILS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_BEST_TAILS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coordinator/planners/tangram/tail_bound.h"

namespace tangram {

// All that a slice in front of a tail depends on, apart from the bounds of the
// tail: two tails with the same have the same pipelines before them.
struct TailPlace {
  int problem = 0;
  int begin = 0;         // The first atom.
  uint32_t islands = 0;  // In use, a bit each.
  int first_island = 0;
  int first_end = 0;  // PlayedPlan::first_end.
  int last_island = 0;
  int last_end = 0;  // PlayedPlan::last_end.
  int num_stages = 0;
  bool operator==(const TailPlace&) const = default;
};

template <typename H>
H AbslHashValue(H hash, const TailPlace& place) {
  return H::combine(std::move(hash), place.problem, place.begin, place.islands,
                    place.first_island, place.first_end, place.last_island,
                    place.last_end, place.num_stages);
}

// The bounds of the tails that a search went on from. Not thread-safe.
class BestTails {
 public:
  // Returns false if a tail at the same place has bounds that are no greater.
  // Otherwise adds this one.
  bool Add(const TailPlace& place, const TailBound& bound);

  void Clear() { bounds_.clear(); }

 private:
  absl::flat_hash_map<TailPlace, std::vector<TailBound>> bounds_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_BEST_TAILS_H_
