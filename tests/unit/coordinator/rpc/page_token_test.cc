#include "coordinator/rpc/page_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

TEST(PageTokenTest, IsThePlaceThatItWasMadeOf) {
  const JobCursor cursor{
      .id = "nightly-7", .submitted_s = 1e9 + 0.25, .key = -3};
  const auto read = ParsePageToken(PageTokenOf(cursor, "q"), "q");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, cursor);
}

TEST(PageTokenTest, OtherTextsAreNone) {
  const std::string token = PageTokenOf({.id = "a"}, "q");
  for (const std::string& bad :
       {std::string("nightly-7"), token.substr(1), token + "!",
        PageTokenOf({.id = ""}, "q"), std::string(5000, 'A'),
        PageTokenOf(
            {.id = "a", .key = std::numeric_limits<double>::quiet_NaN()},
            "q")}) {
    EXPECT_THAT(ParsePageToken(bad, "q").status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("page_token: ")));
  }
  EXPECT_THAT(
      ParsePageToken(token, "another").status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("same filter")));
}

}  // namespace
}  // namespace tangram
