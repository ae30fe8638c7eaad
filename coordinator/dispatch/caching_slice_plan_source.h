#ifndef TANGRAM_COORDINATOR_DISPATCH_CACHING_SLICE_PLAN_SOURCE_H_
#define TANGRAM_COORDINATOR_DISPATCH_CACHING_SLICE_PLAN_SOURCE_H_

#include <cstdint>
#include <memory>

#include "common/parallelizer/slice_plan_source.h"
#include "coordinator/dispatch/shared_answers.h"

namespace tangram {

// Returns a source that caches the answers of `source` to Profile and
// Parallelize in `answers`. All sources that share them must ask one version of
// one parallelizer. `source` must outlive the result, which is thread-safe if
// `source` is. With `ignores_steps`, the parallelizer never reads
// PairQuery::max_search_steps, so that questions which differ in them alone
// have one answer.
std::unique_ptr<SlicePlanSource> CreateCachingSlicePlanSource(
    SlicePlanSource& source, std::shared_ptr<SharedAnswers> answers,
    bool ignores_steps = false);

// Returns a source that caches the answers of `source` to Profile and
// Parallelize, in up to `max_bytes`. `source` must ask one version of one
// parallelizer and must outlive the result.
std::unique_ptr<SlicePlanSource> CreateCachingSlicePlanSource(
    SlicePlanSource& source, int64_t max_bytes);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_CACHING_SLICE_PLAN_SOURCE_H_
