#ifndef TANGRAM_COORDINATOR_BOUNDS_FRACTIONAL_ASSIGNMENT_H_
#define TANGRAM_COORDINATOR_BOUNDS_FRACTIONAL_ASSIGNMENT_H_

#include <vector>

#include "absl/types/span.h"

namespace tangram {

// Returns a lower bound in seconds on the time in which machines do jobs that
// can be divided at will. job_s[j][k] is the time of job j on one machine of
// kind k, of which there are machines[k] ≥ 1; positive and finite.
//
// Linear programming duality: for all prices y_k ≥ 0 with Σ_k machines_k · y_k
// = 1, a share x_jk of job j on kind k gives
//
//   T = Σ_k machines_k y_k T ≥ Σ_k y_k Σ_j x_jk job_jk ≥ Σ_j min_k y_k job_jk.
//
// Any prices give a bound. Returns one at which no single price can be improved
// on, which for two kinds is the least time itself.
double LeastDividedSeconds(absl::Span<const std::vector<double>> job_s,
                           absl::Span<const double> machines);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_BOUNDS_FRACTIONAL_ASSIGNMENT_H_
