#ifndef TANGRAM_COORDINATOR_DISPATCH_ANSWER_CACHE_H_
#define TANGRAM_COORDINATOR_DISPATCH_ANSWER_CACHE_H_

#include <cstdint>
#include <list>
#include <map>

#include "common/base/fingerprint.h"
#include "common/parallelizer/query.h"

namespace tangram {

// Whether asking again would bring the same: not for truncated answers.
bool IsReproducible(const Answer& answer);

// Answers by the key of their query; the least recently used go first. Holds
// what is a function of the key alone: truncated answers are not kept.
// Not thread-safe.
class AnswerCache {
 public:
  explicit AnswerCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Null if there is none. Valid until the next Insert.
  const Answer* Find(Fingerprint key);
  void Insert(Fingerprint key, const Answer& answer);

  int64_t num_entries() const { return static_cast<int64_t>(index_.size()); }
  int64_t num_bytes() const { return num_bytes_; }

 private:
  struct Entry {
    Fingerprint key = 0;
    int64_t bytes = 0;
    Answer answer;
  };

  const int64_t max_bytes_;
  int64_t num_bytes_ = 0;
  std::list<Entry> entries_;  // Most recently used first.
  std::map<Fingerprint, std::list<Entry>::iterator> index_;
};

// Memory that `answer` takes, roughly.
int64_t ApproximateBytes(const Answer& answer);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ANSWER_CACHE_H_
