#ifndef TANGRAM_COORDINATOR_PLANNERS_JUDGE_CHOOSE_ISLANDS_H_
#define TANGRAM_COORDINATOR_PLANNERS_JUDGE_CHOOSE_ISLANDS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace tangram {

// The properties of a pipeline that the last choice depends on.
struct ScoredPipeline {
  uint32_t islands = 0;  // Bit i: it uses island i.
  double iteration_time_s = 0;
};

// Returns the index of the pipeline to answer with: the fastest, except that
// islands with next to no gain are left out. With b(S) the iteration time of
// the fastest pipeline on exactly the islands S,
//
//   f(S) = b(S)               if b(S)·(1 + min_gain) ≤ min f(U) over U ⊂ S,
//          min f(U) over U    otherwise,
//
// and the answer is the pipeline of the least f. So a set of islands is used
// only if it beats each of its subsets by the fraction min_gain. As f of a set
// is never more than f of its subsets, one more island never makes the answer
// slower. Ties go to the first. `pipelines` must not be empty.
int ChooseIslands(absl::Span<const ScoredPipeline> pipelines, double min_gain);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_JUDGE_CHOOSE_ISLANDS_H_
