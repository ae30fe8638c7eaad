#ifndef TANGRAM_TESTS_TESTING_STATUS_MATCHERS_H_
#define TANGRAM_TESTS_TESTING_STATUS_MATCHERS_H_

#include <ostream>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

// Status matchers, which Debian's Abseil lacks. The names are those of newer
// versions:
//   EXPECT_THAT(status, IsOk());
//   EXPECT_THAT(status_or, IsOkAndHolds(5));
//   EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
//                                HasSubstr("groups[0]")));
//   ASSERT_OK_AND_ASSIGN(const Cluster cluster, ParseCluster(text));
namespace tangram::testing {

inline constexpr absl::StatusCode kBadInput =
    absl::StatusCode::kInvalidArgument;
inline constexpr absl::StatusCode kCannot = absl::StatusCode::kUnimplemented;

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

MATCHER(IsOk, "") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << status;
  return status.ok();
}

MATCHER_P2(StatusIs, code, message_matcher, "") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << status;
  return status.code() == code &&
         ::testing::Matches(message_matcher)(std::string(status.message()));
}

MATCHER_P(IsOkAndHolds, value_matcher, "") {
  if (!arg.ok()) {
    *result_listener << arg.status();
    return false;
  }
  return ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

}  // namespace tangram::testing

#define TANGRAM_TEST_CONCAT_(a, b) a##b
#define TANGRAM_TEST_CONCAT(a, b) TANGRAM_TEST_CONCAT_(a, b)
#define ASSERT_OK_AND_ASSIGN(lhs, expression)                    \
  auto TANGRAM_TEST_CONCAT(status_or_, __LINE__) = (expression); \
  ASSERT_TRUE(TANGRAM_TEST_CONCAT(status_or_, __LINE__).ok())    \
      << TANGRAM_TEST_CONCAT(status_or_, __LINE__).status();     \
  lhs = *std::move(TANGRAM_TEST_CONCAT(status_or_, __LINE__))

#endif  // TANGRAM_TESTS_TESTING_STATUS_MATCHERS_H_
