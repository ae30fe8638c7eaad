#ifndef TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWER_H_
#define TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/parallelizer/query.h"

namespace tangram {

// Checks for every answer that enters a planner, a cache or a store, from any
// source: an adapter in this process, a worker, a program, a stored row.
//
// Returns OK if `answer` is of the kind that `query` asks for, every field is
// within its bounds, every plan is legal on its island and within the island's
// limits, and every figure of a plan equals the cost model's for its stages. So
// a worker chooses plans but does not set their figures. Two things are not
// checked: how tight a PerformanceProfile is, and which plans were left out.
//
// The message names field, value and what was expected; the status code has no
// meaning. `query` must be one that CheckIndices accepts. Plans must name
// `adapter` in made_by unless it is empty. Pure; O(plans · stages).
absl::Status CheckAnswer(const PairContext& context, const Query& query,
                         const Answer& answer, absl::string_view adapter = "");

// Checks an answer to Parallelizer::Parallelize in the same way.
absl::Status CheckPlans(const SlicePlanSet& answer, const ModelSlice& slice,
                        const IslandSpec& island,
                        const ParallelizeOptions& options,
                        absl::string_view adapter = "");

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_CHECK_ANSWER_H_
