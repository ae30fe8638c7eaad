#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_CUTS_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_CUTS_H_

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"

namespace tangram {

// Layers to be divided over the stages of a pipeline, none empty, where the
// time of a stage depends on its place, as it does when memory does: the first
// stages hold the most microbatches. The functions must outlive it.
struct StageCutProblem {
  int num_layers = 0;
  int num_stages = 0;
  // A stage is layers [begin, end) in one place.
  using OfStage = absl::FunctionRef<double(int stage, int begin, int end)>;
  // Infinity where they do not fit.
  OfStage seconds;
  // No more than that in any place, and no less for more layers. Cheap.
  absl::FunctionRef<double(int begin, int end)> least_seconds;
};

// The least time of the slowest stage; none: no cuts keep all stages within
// `bound_s`. Exact.
std::optional<double> LeastSlowestStage(const StageCutProblem& problem,
                                        double bound_s);

// The end of each stage, with the least sum of costs of all cuts that keep
// every stage within `bound_s`. A stage's cost is infinity where it cannot be
// kept within it, else no less than its least time. Exact; of equals the
// shortest first stages. Empty: none.
std::vector<int> CutsOfLeastSum(const StageCutProblem& problem, double bound_s,
                                StageCutProblem::OfStage cost);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_CUTS_H_
