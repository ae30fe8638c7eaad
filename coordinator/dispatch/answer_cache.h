#ifndef TANGRAM_COORDINATOR_DISPATCH_ANSWER_CACHE_H_
#define TANGRAM_COORDINATOR_DISPATCH_ANSWER_CACHE_H_

#include <cstdint>
#include <memory>

#include "common/parallelizer/query.h"
#include "coordinator/dispatch/fair_cache.h"
#include "coordinator/dispatch/packed_answer.h"
#include "coordinator/dispatch/query_key.h"

namespace tangram {

// Returns whether the same query would get the same answer again. False for
// truncated answers.
bool IsReproducible(const Answer& answer);

// Returns the answer as a cache keeps it. Null unless it is reproducible.
std::shared_ptr<const PackedAnswer> PackIfReproducible(const Answer& answer);

// Holds answers by the key of their query, and evicts the least recently used.
// Callers pack and unpack them, so that they need no lock for it. Not
// thread-safe.
class AnswerCache {
 public:
  explicit AnswerCache(int64_t max_bytes) : answers_(max_bytes) {}

  bool Contains(const QueryKey& key) { return answers_.Find(key) != nullptr; }
  // Null: not known.
  std::shared_ptr<const PackedAnswer> Find(const QueryKey& key);
  // Ignores null.
  void Insert(const QueryKey& key, std::shared_ptr<const PackedAnswer> answer);

  int64_t num_entries() const { return answers_.num_entries(); }
  int64_t num_bytes() const { return answers_.num_bytes(); }

 private:
  // All have one owner, so the least recently used of all goes first.
  FairCache<QueryKey, std::shared_ptr<const PackedAnswer>> answers_;
};

// Returns the approximate memory of an answer in the cache.
int64_t ApproximateBytes(const PackedAnswer& answer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ANSWER_CACHE_H_
