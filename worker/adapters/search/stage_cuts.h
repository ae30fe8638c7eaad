#ifndef TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_CUTS_H_
#define TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_CUTS_H_

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/base/stop_poll.h"

namespace tangram {

// Layers to be divided over the stages of a pipeline, none empty. The time of a
// stage may depend on its place, because the first stages hold the most
// microbatches. The functions must outlive the problem.
struct StageCutProblem {
  int num_layers = 0;
  int num_stages = 0;
  // Value of layers [begin, end) as stage `stage`.
  using OfStage = absl::FunctionRef<double(int stage, int begin, int end)>;
  // Seconds of a stage; infinity if it does not fit in memory.
  OfStage seconds;
  // A lower bound on `seconds` for every stage that never falls as layers are
  // added. Must be cheap.
  absl::FunctionRef<double(int begin, int end)> least_seconds;
  // If it stops, there is no answer. May be null.
  StopPoll* poll = nullptr;
};

// Returns the least time of the slowest stage. Returns none if no cuts keep all
// stages within `bound_s`. Exact.
std::optional<double> LeastSlowestStage(const StageCutProblem& problem,
                                        double bound_s);

// Returns the end of each stage for the cuts with the least sum of costs that
// keep every stage within `bound_s`. The cost of a stage is infinity if it
// exceeds the bound, else at least its least time. Exact. Among equals, the
// first stages are the shortest. Empty if there are no such cuts.
std::vector<int> CutsOfLeastSum(const StageCutProblem& problem, double bound_s,
                                StageCutProblem::OfStage cost);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_SEARCH_STAGE_CUTS_H_
