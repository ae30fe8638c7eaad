#ifndef TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_
#define TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "common/parallelizer/query.h"

namespace tangram {

using KeyedAnswer = std::pair<Fingerprint, Answer>;

// Answers by the key of their query, beyond the life of the process. A cache:
// it may forget, and says nothing where it cannot read or write. Thread-safe.
class AnswerStore {
 public:
  virtual ~AnswerStore() = default;

  // In the order of the keys.
  virtual std::vector<std::optional<Answer>> Find(
      absl::Span<const Fingerprint> keys) = 0;
  // May take as long as it takes to write them. `on_settled` is called once,
  // now or later, from any thread: when they are kept, or cannot be for now.
  virtual void Insert(const std::vector<KeyedAnswer>& answers,
                      std::function<void()> on_settled) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_
