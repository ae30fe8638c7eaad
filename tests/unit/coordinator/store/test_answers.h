#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_STORE_TEST_ANSWERS_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_STORE_TEST_ANSWERS_H_

#include <map>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "coordinator/store/sql_answer_store.h"

namespace tangram::testing {

// Questions and answers that are distinguished by a number.

inline Answer AnswerWith(int64_t steps, size_t reason_bytes = 0) {
  return SlicePlanSet{
      .infeasible = Infeasible{.reason = std::string(reason_bytes + 1, 'x')},
      .search_steps = steps};
}

inline Question QuestionOf(uint64_t number) {
  const std::string bytes = absl::StrCat("question ", number);
  return {.key = {.digest = Sha256()(bytes)}, .bytes = bytes};
}

inline AnsweredQuestion Answered(uint64_t number, const Answer& answer) {
  return {QuestionOf(number), answer};
}

// Returns the stored search steps; -1: not found.
inline int64_t StepsIn(AnswerStore& store, uint64_t number) {
  const std::optional<Answer> answer = store.Find({QuestionOf(number)}).front();
  return answer ? std::get<SlicePlanSet>(*answer).search_steps : -1;
}

// Counts the calls.
class CountingObserver : public AnswerStoreObserver {
 public:
  void OnDropped(absl::string_view reason) override {
    ++dropped[std::string(reason)];
  }
  void OnSetAside() override { ++set_aside; }

  std::map<std::string, int> dropped;
  int set_aside = 0;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_STORE_TEST_ANSWERS_H_
