#ifndef TANGRAM_COMMON_PARALLELIZER_CHECK_FIGURES_H_
#define TANGRAM_COMMON_PARALLELIZER_CHECK_FIGURES_H_

#include "absl/status/status.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Returns OK if every figure of the plans equals the cost model's for their
// stages. time_s, backward_s and sync_s may differ by a fraction of 1e-9.
// max_trailing_stages must be the most that memory allows. An error message
// names field, value and what was expected; the status code has no meaning.
// `answer` must be one that CheckSlicePlanSet accepts.
absl::Status CheckFigures(const SlicePlanSet& answer, const ModelSlice& slice,
                          const IslandSpec& island,
                          const ParallelizeOptions& options);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_CHECK_FIGURES_H_
