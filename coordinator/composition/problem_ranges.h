#ifndef TANGRAM_COORDINATOR_COMPOSITION_PROBLEM_RANGES_H_
#define TANGRAM_COORDINATOR_COMPOSITION_PROBLEM_RANGES_H_

#include <vector>

#include "common/base/infinity.h"
#include "coordinator/composition/compose_pipeline.h"

namespace tangram {

// Returns the indices of pairs by the atom at which they end, in the order of
// `pairs`.
std::vector<std::vector<int>> PairsByEnd(const ComposeProblem& problem);

// The range of Candidate::slowest_s over all candidates, in seconds.
struct StageRange {
  double fastest_s = kInfinity;
  double slowest_s = 0;
};
StageRange StagesOf(const ComposeProblem& problem);

// The least times of a pair's candidates.
struct LeastOfPair {
  double latency_s = kInfinity;
  double slowest_s = kInfinity;
  double backward_s = kInfinity;
  double forward_s = kInfinity;  // Latency without backward passes.
};
// Returns those of all pairs, in their order.
std::vector<LeastOfPair> LeastsOf(const ComposeProblem& problem);

// Returns the number of stages from which on tails are alike to the slices
// before them: more than any candidate fits, except for those that fit any
// number. All are told apart if the problem limits the number of stages.
int StagesToldApart(const ComposeProblem& problem);

// Returns whether the whole pipeline may have so many stages, which are at most
// ComposeProblem::max_stages.
bool MayHaveStages(const ComposeProblem& problem, int num_stages);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_PROBLEM_RANGES_H_
