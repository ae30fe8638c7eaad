#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLANNING_LIMITS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLANNING_LIMITS_H_

#include <cstdint>

// Bounds on the search for one plan, beside kMaxIslands. common/domain/limits.h
// bounds what a request may hold; these bound what the planner makes of it. The
// planner stays within them by coarser atoms, fewer islands and a beam, and
// says so in the notes of the answer; it never answers with an error because of
// them.
namespace tangram {

// A model has n(n + 1) / 2 slices of n atoms, and each of them has a place in
// every composition. 256 atoms are 33,000 slices. Models in use have at most
// 130 layers.
inline constexpr int kMaxAtoms = 256;
// The coarsest grouping. It brings every legal request within kMaxPairs and
// kMaxSliceRuns: 8 atoms have 36 slices, which times 16 islands and 504
// microbatch sizes are 290,000 pairs, and 16,384 different layers in 8 atoms
// are 290,000 runs.
inline constexpr int kMinAtoms = 8;

// Pairs that a request may have after equal slices are merged. A pair takes 20
// bytes until it is asked: 40 MB.
inline constexpr int64_t kMaxPairs = int64_t{1} << 21;

// Runs of equal layers in the slices of a request, 120 bytes each: 48 MB here,
// and half as much in a message to a worker, which has at most 64 MB.
inline constexpr int64_t kMaxSliceRuns = 400'000;

// Slice plans that a search keeps. It asks for no more beyond this, and the
// answer is marked as truncated.
inline constexpr int64_t kMaxAnswerBytes = int64_t{128} << 20;

// Queries in one batch. A batch of answers is in memory beside those that are
// kept: 35 slice plans of 800 bytes each, in the largest clusters, are 30 MB.
inline constexpr int kMaxBatchQueries = 1 << 10;

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLANNING_LIMITS_H_
