#ifndef TANGRAM_COMMON_SIM_SHARE_BATCH_H_
#define TANGRAM_COMMON_SIM_SHARE_BATCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace tangram {

// The time of a pipeline as a linear function of its microbatches B:
//   J(B) = fill_s + B · microbatch_s.
struct PipelinePace {
  double fill_s = 0;
  double microbatch_s = 0;  // Positive.
};

inline double EndSeconds(const PipelinePace& pace, int64_t num_microbatches) {
  return pace.fill_s +
         static_cast<double>(num_microbatches) * pace.microbatch_s;
}

// Shares `num_microbatches` among pipelines so that the last one ends as early
// as possible: minimises max_r J_r(B_r) over integers B_r ≥ 0 with Σ B_r =
// num_microbatches. Each next microbatch goes to the pipeline that would then
// end first, which is optimal. Ties go to the first pipeline. A pipeline that
// gets 0 is not worth its fill. The search starts from computed shares below
// the optimum, so its effort does not grow with the number of microbatches.
std::vector<int64_t> ShareMicrobatches(absl::Span<const PipelinePace> pipelines,
                                       int64_t num_microbatches);

// Returns the end time with fractional shares (the water level). With U the
// pipelines whose fill is below the level,
//   L = (num_microbatches + Σ_U fill/microbatch) / Σ_U 1/microbatch.
// This is a lower bound of the end with integer shares, too low by at most the
// largest microbatch_s.
double WaterLevelSeconds(absl::Span<const PipelinePace> pipelines,
                         int64_t num_microbatches);

// A pipeline and its microbatch size.
struct SamplePace {
  PipelinePace pace;
  int microbatch_size = 1;  // Samples.
};

// Shares exactly `num_samples` among pipelines of unlike microbatch sizes:
// minimises max_r J_r(B_r) over integers B_r ≥ 0 with Σ B_r·M_r = num_samples.
// A pipeline with B_r = 0 takes no time, and one of infinite fill takes no
// microbatches. Returns the B_r; empty if none add up. With G samples and R
// pipelines, O(R·G) for each step of a bisection of the end.
std::optional<std::vector<int64_t>> ShareSamples(
    absl::Span<const SamplePace> pipelines, int64_t num_samples);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_SHARE_BATCH_H_
