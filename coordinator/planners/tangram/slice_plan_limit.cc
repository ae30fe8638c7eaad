#include "coordinator/planners/tangram/slice_plan_limit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tangram {
namespace {

double RoundedUp(double seconds) {
  int exponent = 0;
  const double fraction = std::frexp(seconds, &exponent);
  return std::ldexp(std::ceil(fraction * 16) / 16, exponent);
}

}  // namespace

// With L the limit of the pipeline, and Λ the least latency of the slices on
// other islands, the plan of the pair takes at most L − Λ alone.
double SlicePlanLimit(const SearchSpace& space, const PairId& pair,
                      double pipeline_s) {
  const double rest_s = space.bounds[pair.microbatch].RestLatencySeconds(
      space.slices.MembersOf(pair.slice_class).front(),
      space.island_classes[pair.island_class].islands.front());
  return std::max(RoundedUp(pipeline_s - rest_s),
                  std::numeric_limits<double>::min());
}

}  // namespace tangram
