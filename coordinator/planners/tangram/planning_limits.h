#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLANNING_LIMITS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLANNING_LIMITS_H_

#include <cstdint>

// Limits on the search for one plan, in addition to kMaxIslands. The limits of
// common/domain/limits.h are on requests; these are on the search. The planner
// stays within them by coarser atoms, fewer islands and a beam. It then says so
// in the notes of the answer, and never answers with an error because of them.
namespace tangram {

// The most atoms in a search. A model of n atoms has n(n + 1) / 2 slices, and
// each of them has a place in every composition. 256 atoms have 33,000 slices.
// Models in use have at most 130 layers.
inline constexpr int kMaxAtoms = 256;
// The coarsest grouping. It brings every legal request within kMaxPairs and
// kMaxSliceRuns: 8 atoms have 36 slices, which times 16 islands and 504
// microbatch sizes are 290,000 pairs, and 16,384 different layers in 8 atoms
// are 290,000 runs.
inline constexpr int kMinAtoms = 8;

// The most pairs of a request after equal slices are merged. A pair takes 20
// bytes until it is asked, so all of them take 40 MB.
inline constexpr int64_t kMaxPairs = int64_t{1} << 21;

// The most runs of equal layers in the slices of a request. At 120 bytes each
// they take 48 MB, and half as much in a message to a worker, whose limit is
// 64 MB.
inline constexpr int64_t kMaxSliceRuns = 400'000;

// The most bytes of slice plans that a search keeps. Beyond this it asks for no
// more, and the answer is marked as truncated.
inline constexpr int64_t kMaxAnswerBytes = int64_t{128} << 20;

// The most queries in one batch. The answers of a batch are in memory beside
// those that are kept. In the largest clusters an answer has 35 slice plans of
// 800 bytes, so a batch takes 30 MB.
inline constexpr int kMaxBatchQueries = 1 << 10;

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLANNING_LIMITS_H_
