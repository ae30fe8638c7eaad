#ifndef TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWERS_H_
#define TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWERS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// What every Parallelizer promises, as far as it can be told from domain types
// alone: memory and times are not estimated again. Not OK: the message names
// field, value and what was expected; the code means nothing.

// Atoms are numbered from 0 and together hold the layers of `model` in order.
absl::Status CheckAtoms(absl::Span<const ModelSlice> atoms,
                        const ModelSpec& model);

absl::Status CheckProfile(const PerformanceProfile& profile);

// Plans or a reason for having none; each plan covers the slice with stages
// that the island can hold.
absl::Status CheckSlicePlanSet(const SlicePlanSet& answer,
                               const ModelSlice& slice,
                               const IslandSpec& island,
                               const ParallelizeOptions& options);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWERS_H_
