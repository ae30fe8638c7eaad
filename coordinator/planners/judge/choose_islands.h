#ifndef TANGRAM_COORDINATOR_PLANNERS_JUDGE_CHOOSE_ISLANDS_H_
#define TANGRAM_COORDINATOR_PLANNERS_JUDGE_CHOOSE_ISLANDS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace tangram {

// A pipeline by what counts in the last choice.
struct ScoredPipeline {
  uint32_t islands = 0;  // A bit for each that it uses.
  double iteration_time_s = 0;
};

// The index of the pipeline to return: the fastest, except that islands which
// bring next to nothing are left out. With b(S) the fastest pipeline on exactly
// the islands S,
//
//   f(S) = b(S)               if b(S)·(1 + min_gain) ≤ min f(U) over U ⊂ S,
//          min f(U) over U    otherwise,
//
// and the answer is the pipeline of the least f. So a set of islands is used
// only if it beats every smaller one by min_gain, and since f of a set is never
// more than f of its subsets, an island more never makes the answer slower.
// Ties go to the first. `pipelines` must not be empty.
int ChooseIslands(absl::Span<const ScoredPipeline> pipelines, double min_gain);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_JUDGE_CHOOSE_ISLANDS_H_
