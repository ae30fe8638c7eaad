#ifndef TANGRAM_COORDINATOR_DISPATCH_CACHING_SLICE_PLAN_SOURCE_H_
#define TANGRAM_COORDINATOR_DISPATCH_CACHING_SLICE_PLAN_SOURCE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/answer_cache.h"

namespace tangram {

// Answers that several sources share. Thread-safe.
class SharedAnswers {
 public:
  explicit SharedAnswers(int64_t max_bytes) : answers_(max_bytes) {}

  std::optional<Answer> Find(const QueryKey& key);
  void Insert(const QueryKey& key, const Answer& answer);

  // Slice plans that were asked for because they were not known.
  int64_t num_asked() const { return num_asked_; }
  void NoteAsked(int64_t num_slice_plans) { num_asked_ += num_slice_plans; }

 private:
  std::atomic<int64_t> num_asked_ = 0;
  Mutex mutex_;
  AnswerCache answers_ ABSL_GUARDED_BY(mutex_);
};

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
