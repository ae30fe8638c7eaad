#include "coordinator/planners/tangram/slice_plan_limit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tangram {
namespace {

double RoundedUp(double seconds, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(seconds, &exponent);
  return std::ldexp(std::ceil(std::ldexp(fraction, bits)), exponent - bits);
}

double RestSeconds(const SearchSpace& space, const PairId& pair) {
  return space.bounds[pair.microbatch].RestLatencySeconds(
      space.slices.MembersOf(pair.slice_class).front(),
      space.island_classes[pair.island_class].islands.front());
}

}  // namespace

// With L the limit of the pipeline, and Λ the least latency of the slices on
// other islands, the plan of the pair takes at most L − Λ alone.
double SlicePlanLimit(const SearchSpace& space, const PairId& pair,
                      double pipeline_s) {
  return std::max(RoundedUp(pipeline_s - RestSeconds(space, pair), 4),
                  std::numeric_limits<double>::min());
}

double SlicePlanLimitBeside(const SearchSpace& space, const PairId& pair,
                            double pipeline_s, double rest_s) {
  const double most_s = pipeline_s - std::max(rest_s, RestSeconds(space, pair));
  return std::max(RoundedUp(most_s, 6), std::numeric_limits<double>::min());
}

}  // namespace tangram
