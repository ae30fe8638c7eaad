#ifndef TANGRAM_COORDINATOR_DISPATCH_ANSWER_CACHE_H_
#define TANGRAM_COORDINATOR_DISPATCH_ANSWER_CACHE_H_

#include <cstdint>

#include "common/parallelizer/query.h"
#include "coordinator/dispatch/lru_cache.h"
#include "coordinator/dispatch/query_key.h"

namespace tangram {

// Whether asking again would bring the same: not for truncated answers.
bool IsReproducible(const Answer& answer);

// Answers by the key of their query; the least recently used go first. Holds
// only functions of the key: truncated answers are not kept.
// Not thread-safe.
class AnswerCache {
 public:
  explicit AnswerCache(int64_t max_bytes) : answers_(max_bytes) {}

  // Null if there is none. Valid until the next Insert.
  const Answer* Find(const QueryKey& key) { return answers_.Find(key); }
  void Insert(const QueryKey& key, const Answer& answer);

  int64_t num_entries() const { return answers_.num_entries(); }
  int64_t num_bytes() const { return answers_.num_bytes(); }

 private:
  LruCache<QueryKey, Answer> answers_;
};

// Memory that `answer` takes, roughly.
int64_t ApproximateBytes(const Answer& answer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ANSWER_CACHE_H_
