#ifndef TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWER_H_
#define TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/parallelizer/query.h"

namespace tangram {

// The law for every answer that enters a planner, a cache or a store, whoever
// gave it: an adapter in this process, a worker, a program, a stored row.
//
// OK if `answer` is of the kind that `query` asks for, every field is within
// its bounds, every plan is legal on its island and within the island's limits,
// and every figure of a plan is what the cost model says of its stages. A
// worker chooses plans; it cannot say what they take. Two things are taken at
// its word: how tight a PerformanceProfile is, and which plans it left out.
//
// The message names field, value and what was expected; the code means nothing.
// `query` must be one that CheckIndices accepts. An empty `adapter` stands for
// any: otherwise plans must name it in made_by. Pure; O(plans · stages).
absl::Status CheckAnswer(const PairContext& context, const Query& query,
                         const Answer& answer, absl::string_view adapter = "");

// The same for an answer to Parallelizer::Parallelize.
absl::Status CheckPlans(const SlicePlanSet& answer, const ModelSlice& slice,
                        const IslandSpec& island,
                        const ParallelizeOptions& options,
                        absl::string_view adapter = "");

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWER_H_
