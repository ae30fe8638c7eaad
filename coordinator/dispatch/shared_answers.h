#ifndef TANGRAM_COORDINATOR_DISPATCH_SHARED_ANSWERS_H_
#define TANGRAM_COORDINATOR_DISPATCH_SHARED_ANSWERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/answer_cache.h"
#include "coordinator/dispatch/packed_answer.h"
#include "coordinator/dispatch/query_key.h"

namespace tangram {

// Answers that several sources share. Whoever needs one that is not known
// claims its question, asks it, and inserts the answer. Others meanwhile claim
// other questions, or wait. So each question is asked once, on any number of
// threads. Thread-safe.
class SharedAnswers {
 public:
  // `most_claims` at once are sensible for a source: many make others wait,
  // few make batches small. Up to `max_unpacked_stages` stages of slice plans
  // are also kept as they are, those that come first.
  explicit SharedAnswers(
      int64_t max_bytes,
      size_t most_claims = std::numeric_limits<size_t>::max(),
      int64_t max_unpacked_stages = 0);

  size_t most_claims() const { return most_claims_; }

  struct Found {
    std::shared_ptr<const PackedAnswer> answer;  // Null: not known.
    bool is_claimed = false;  // By this call. Else by another, if not known.
  };
  // Claims the question if it is neither known nor claimed and `may_claim`.
  Found FindOrClaim(const QueryKey& key, bool may_claim);
  // Ends a claim. Truncated answers are not kept.
  void Insert(const QueryKey& key, const Answer& answer);
  // Ends claims without an answer. Those that have ended are left out.
  void Release(absl::Span<const QueryKey> keys);
  // Waits until a claim on the question has ended.
  void Wait(const QueryKey& key);

  // Returns the answer if it is kept as it is. Else it has no set.
  SharedAnswer FindUnpacked(const QueryKey& key);
  // Returns `set`, and may keep it under its name. Truncated answers get none.
  SharedAnswer KeepUnpacked(const QueryKey& key, SlicePlanSet set);

  // Slice plans that were asked for because they were not known.
  int64_t num_asked() const { return num_asked_; }
  void NoteAsked(int64_t num_slice_plans) { num_asked_ += num_slice_plans; }

 private:
  SharedAnswer::Name NameOf(const QueryKey& key) const;

  const uint64_t number_;  // Unlike that of any other in this process.
  const size_t most_claims_;
  const int64_t max_unpacked_stages_;
  std::atomic<int64_t> num_asked_ = 0;
  Mutex mutex_;
  ConditionVariable ended_;  // A claim.
  AnswerCache answers_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<QueryKey> claimed_ ABSL_GUARDED_BY(mutex_);
  Mutex unpacked_mutex_;
  absl::flat_hash_map<QueryKey, std::shared_ptr<const SlicePlanSet>> unpacked_
      ABSL_GUARDED_BY(unpacked_mutex_);
  int64_t num_unpacked_stages_ ABSL_GUARDED_BY(unpacked_mutex_) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_SHARED_ANSWERS_H_
