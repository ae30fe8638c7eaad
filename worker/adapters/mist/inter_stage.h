#ifndef TANGRAM_WORKER_ADAPTERS_MIST_INTER_STAGE_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_INTER_STAGE_H_

#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

// Mist's inter-stage tuning (2503.19050): which layers each stage of a pipeline
// runs, and by which of its policies, so that an iteration of B microbatches,
//
//   (B − 1)·max T_i + Σ T_i + max(0, max_i (D_i − Σ_{j<i} T_j)),
//
// is shortest. Upstream solves a mixed-integer programme over a sample of the
// policies; this is exact over all of them.
namespace tangram::mist {

// One way to run a stage.
struct StagePolicy {
  // T: forward and backward pass of a microbatch in the steady state.
  double steady_s = 0;
  // D: what the first and the last microbatch take on top: gradients to
  // reduce, weights to gather, optimizer state to move and update.
  double extra_s = 0;
  bool operator==(const StagePolicy&) const = default;
};

// Indices, by ascending steady_s, of the policies that no other is at least as
// good as in both respects. Of equals the first counts.
std::vector<int> ParetoPolicies(absl::Span<const StagePolicy> policies);

// What a stage may do with the layers [begin, end).
struct StageOption {
  absl::Span<const StagePolicy> policies;  // None: not these layers.
  double transfer_s = 0;  // Adds to T of each: passing on what comes out.
};

struct InterStageProblem {
  int num_layers = 0;
  int num_stages = 0;
  absl::FunctionRef<StageOption(int stage, int begin, int end)> option;
  // No stage may take longer.
  double slowest_bound_s = std::numeric_limits<double>::infinity();
};

struct StageChoice {
  int end = 0;     // Layer at which the stage ends.
  int policy = 0;  // Index into the policies of its option.
  bool operator==(const StageChoice&) const = default;
};

struct StagedPipeline {
  double slowest_s = 0;  // max T.
  double span_s = 0;     // Σ T and what it leaves of D, as above.
  double last_s = 0;     // T of the last stage.
  std::vector<StageChoice> stages;

  double IterationSeconds(int num_microbatches) const {
    return (num_microbatches - 1) * slowest_s + span_s;
  }
};

// All that are best in (slowest_s, span_s, last_s), by ascending slowest_s: the
// best pipeline for any number of microbatches is among them. Empty: there is
// none.
std::vector<StagedPipeline> ChoosePolicies(const InterStageProblem& problem);

// The best of `all` for `num_microbatches`, and those of the others to which
// none that is kept comes close in every respect: the composition would only
// choose between almost equals.
std::vector<StagedPipeline> DistinctPipelines(std::vector<StagedPipeline> all,
                                              int num_microbatches);

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_INTER_STAGE_H_
