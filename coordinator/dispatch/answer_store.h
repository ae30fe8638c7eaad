#ifndef TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_
#define TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/parallelizer/query.h"
#include "coordinator/dispatch/query_key.h"

namespace tangram {

struct AnsweredQuestion {
  Question question;
  Answer answer;
};

// Answers to questions, beyond the life of the process. A cache: it may forget,
// and says nothing where it cannot read or write. It may also have been
// tampered with: an answer that it returns was kept for that question as far as
// a checksum without a secret can tell, and has yet to be checked against it.
// Thread-safe.
class AnswerStore {
 public:
  virtual ~AnswerStore() = default;

  // In the order of the questions.
  virtual std::vector<std::optional<Answer>> Find(
      absl::Span<const Question> questions) = 0;
  // May take as long as it takes to write them. `on_settled` is called once,
  // now or later, from any thread: when they are kept, or cannot be for now.
  virtual void Insert(const std::vector<AnsweredQuestion>& answers,
                      std::function<void()> on_settled) = 0;
  // Forgets an answer that Find returned and that does not answer its question,
  // as `reason` says.
  virtual void Drop(const QueryKey& key, const absl::Status& reason) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_
