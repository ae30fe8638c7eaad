#ifndef TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWERS_H_
#define TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWERS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// The most plans in an answer. A search returns tens of plans, each best in
// some respect.
inline constexpr int kMaxSlicePlans = 1 << 12;
// The most bytes of a reason or a name. Both are at most a few sentences, and
// reach logs.
inline constexpr int kMaxAnswerText = 1 << 10;
// The most search steps: sums over 2^20 answers still fit 63 bits.
inline constexpr int64_t kMaxSearchSteps = int64_t{1} << 42;

// The parts of CheckAnswer that need no cost model. An error message names
// field, value and what was expected; the status code has no meaning.

// Checks that atoms are numbered from 0 and together hold the layers of `model`
// in order.
absl::Status CheckAtoms(absl::Span<const ModelSlice> atoms,
                        const ModelSpec& model);

// Checks that `joined` is `head` followed by `tail`.
absl::Status CheckJoined(const ModelSlice& joined, const ModelSlice& head,
                         const ModelSlice& tail);

absl::Status CheckProfile(const PerformanceProfile& profile);

// Checks that there are plans or a reason for having none. Each plan must cover
// the slice with stages that the island can hold and that are within its
// limits.
absl::Status CheckSlicePlanSet(const SlicePlanSet& answer,
                               const ModelSlice& slice,
                               const IslandSpec& island,
                               const ParallelizeOptions& options);

// Checks that plans use only techniques that are among the parallelizer's
// features, or that `limits` demand: bounds hold for no others.
absl::Status CheckFeatures(const SlicePlanSet& answer,
                           const ParallelizerFeatures& features,
                           const StageLimits& limits);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWERS_H_
