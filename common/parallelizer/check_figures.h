#ifndef TANGRAM_COMMON_PARALLELIZER_CHECK_FIGURES_H_
#define TANGRAM_COMMON_PARALLELIZER_CHECK_FIGURES_H_

#include "absl/status/status.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// Not OK if a figure of a plan is not what the cost model says of its stages:
// time_s, backward_s and sync_s within 1e-9 of it, max_trailing_stages exactly
// what memory bears. The message names field, value and what was expected; the
// code means nothing. `answer` must be one that CheckSlicePlanSet accepts.
absl::Status CheckFigures(const SlicePlanSet& answer, const ModelSlice& slice,
                          const IslandSpec& island,
                          const ParallelizeOptions& options);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_CHECK_FIGURES_H_
