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

// Holds answers to questions beyond the life of the process. It is a cache: it
// may forget, and it reports no error if it cannot read or write. Others may
// have tampered with it. A checksum without a secret shows that a returned
// answer was kept for that question. The caller must still check it against the
// question. Thread-safe.
class AnswerStore {
 public:
  virtual ~AnswerStore() = default;

  // Returns the answers in the order of the questions. Empty: not known.
  virtual std::vector<std::optional<Answer>> Find(
      absl::Span<const Question> questions) = 0;
  // Keeps `answers`. May block while it writes them. Calls `on_settled` once,
  // now or later, from any thread, when they are kept or cannot be kept for
  // now.
  virtual void Insert(const std::vector<AnsweredQuestion>& answers,
                      std::function<void()> on_settled) = 0;
  // Forgets an answer that Find returned and that does not answer its question.
  // `reason` says why.
  virtual void Drop(const QueryKey& key, const absl::Status& reason) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ANSWER_STORE_H_
