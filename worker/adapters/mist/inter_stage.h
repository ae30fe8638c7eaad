#ifndef TANGRAM_WORKER_ADAPTERS_MIST_INTER_STAGE_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_INTER_STAGE_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/domain/closed_form.h"

// Mist's inter-stage tuning (2503.19050). Chooses the layers of each stage of a
// pipeline and one of its policies so that an iteration of B microbatches,
//
//   (B − 1)·max T_i + Σ T_i + max(0, max_i (D_i − Σ_{j<i} T_j)),
//
// is shortest. Upstream solves a mixed-integer program over a sample of the
// policies; this is exact over all of them.
namespace tangram::mist {

// One way to run a stage.
struct StagePolicy {
  // T: forward and backward pass of one microbatch in the steady state.
  double steady_s = 0;
  // D: additional time of the first and the last microbatch, for reducing
  // gradients, gathering weights, and moving and updating optimizer state.
  double extra_s = 0;
  bool operator==(const StagePolicy&) const = default;
};

// The policies of a stage with the layers [begin, end).
struct StageOption {
  absl::Span<const StagePolicy>
      policies;  // Empty: the stage may not hold these layers.
  double transfer_s =
      0;  // Added to T of each policy: the transfer to the next stage.
};

// A pipeline of `num_stages` stages over `num_layers` layers.
struct InterStageProblem {
  int num_layers = 0;
  int num_stages = 0;
  absl::FunctionRef<StageOption(int stage, int begin, int end)> option;
  // Upper bound on the time of every stage.
  double slowest_bound_s = kInfinity;
};

struct StageChoice {
  int end = 0;     // Layer at which the stage ends.
  int policy = 0;  // Index into the policies of its option.
  bool operator==(const StageChoice&) const = default;
};

// A solution.
struct StagedPipeline {
  double slowest_s = 0;  // max T.
  double span_s = 0;     // Σ T plus the exposed part of D, as above.
  double last_s = 0;     // T of the last stage.
  std::vector<StageChoice> stages;

  double IterationSeconds(int num_microbatches) const {
    return ClosedFormSeconds(span_s, slowest_s, num_microbatches);
  }
};

// Returns the pipelines that no other equals or beats in (slowest_s, span_s,
// last_s), by ascending slowest_s. The best pipeline for any number of
// microbatches is among them. Empty if there is none.
std::vector<StagedPipeline> ChoosePolicies(const InterStageProblem& problem);

// Returns the best pipeline of `all` for `num_microbatches`, and the others to
// which no kept one comes close in every respect. The rest are so close that
// the composition would choose between almost equals.
std::vector<StagedPipeline> DistinctPipelines(std::vector<StagedPipeline> all,
                                              int num_microbatches);

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_INTER_STAGE_H_
