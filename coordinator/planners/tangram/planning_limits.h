#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLANNING_LIMITS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLANNING_LIMITS_H_

#include <algorithm>
#include <cstdint>

#include "coordinator/composition/compose_pipeline.h"

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

// The most pairs of a request after equal slices are merged. Before it is
// asked, a pair takes the 8 bytes of a pointer to its answer, 12 for its id
// while it is open, and 24 with its bound while a wave is asked. All of them
// take 46 MB.
inline constexpr int64_t kMaxPairs = int64_t{1} << 20;
inline constexpr int64_t kBytesPerPair = 8 + 12 + 24;

// The most runs of equal layers in the slices of a request. At 120 bytes each
// they take 36 MB, and half as much in a message to a worker, whose limit is
// 64 MB.
inline constexpr int64_t kMaxSliceRuns = 300'000;

// The most bytes of slice plans that a search keeps. Beyond this it asks for no
// more, and the answer is marked as truncated.
inline constexpr int64_t kMaxAnswerBytes = int64_t{64} << 20;

// The most queries in one batch. The answers of a batch are in memory beside
// those that are kept, so a batch takes 30 MB.
inline constexpr int kMaxBatchQueries = 1 << 10;

// The bytes of an answer. In the largest clusters it has 35 slice plans of 800
// bytes.
inline constexpr int64_t kBytesPerAnswer = int64_t{32} << 10;

// The most pipelines that the search proposes at once.
inline constexpr int kMaxFinalists = 1024;

// Returns the most compositions that are kept for each of `num_sizes`
// microbatch sizes, if at most `wanted` are. Requests have up to 16 sizes; with
// hundreds, kMaxFinalists for each of them would take 200 MB.
inline int MostCompositions(int wanted, int num_sizes) {
  // Divisors of a batch of 2^15, more than most requests have.
  constexpr int kUsualSizes = 16;
  return std::min(wanted, std::max(kMaxCompositions,
                                   kUsualSizes * kMaxFinalists / num_sizes));
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLANNING_LIMITS_H_
