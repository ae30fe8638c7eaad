#ifndef TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_
#define TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/parallelizer/query.h"

namespace tangram {

// Answers by the key of their query, beyond the life of the process. A cache:
// it may forget, and says nothing where it cannot read or write. Thread-safe.
class AnswerStore {
 public:
  virtual ~AnswerStore() = default;

  // In the order of the keys.
  virtual std::vector<std::optional<Answer>> Find(
      absl::Span<const Fingerprint> keys) = 0;
  // Returns at once; kept soon.
  virtual void Insert(Fingerprint key, const Answer& answer) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_
