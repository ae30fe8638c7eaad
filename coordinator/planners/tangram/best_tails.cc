#include "coordinator/planners/tangram/best_tails.h"

#include "absl/algorithm/container.h"

namespace tangram {

bool BestTails::Add(const TailPlace& place, const TailBound& bound) {
  std::vector<TailBound>& bounds = bounds_[place];
  if (absl::c_any_of(bounds, [&](const TailBound& other) {
        return IsNoGreater(other, bound);
      })) {
    return false;
  }
  bounds.push_back(bound);
  return true;
}

}  // namespace tangram
