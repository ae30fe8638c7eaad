#include "coordinator/rpc/job_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOkAndHolds;
using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

const Caller kAlice{
    .name = "alice", .tenant = "team-a", .roles = Roles() | Role::kPlan};
const Caller kOlga{.name = "olga", .roles = Roles() | Role::kOperate};

TEST(JobNamesTest, ANameIsAJobOfTheTenant) {
  EXPECT_THAT(JobIdOf("x", kAlice), IsOkAndHolds("team-a/x"));
  EXPECT_EQ(JobNameFor("team-a/x", kAlice), "x");
}

TEST(JobNamesTest, NoNameIsNoJob) {
  for (const Caller& caller : {kAlice, kOlga}) {
    EXPECT_THAT(JobIdOf("", caller).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "job_id: \"\"; expected the name of a job"));
  }
}

TEST(JobNamesTest, OnlyOperatorsNameJobsOfOthers) {
  for (const char* name : {"team-b/x", "team-a/x", "/x", "a/b/c"}) {
    EXPECT_THAT(JobIdOf(name, kAlice).status(),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("is unknown")));
  }
  EXPECT_THAT(JobIdOf("team-b/x", kOlga), IsOkAndHolds("team-b/x"));
  EXPECT_EQ(JobNameFor("team-b/x", kOlga), "team-b/x");
}

TEST(JobNamesTest, ErrorsSayTheNameByWhichTheCallerAsks) {
  const absl::Status unknown =
      absl::NotFoundError("job_id: \"team-a/x\" is unknown");
  EXPECT_THAT(
      WithJobName(unknown, "team-a/x", kAlice),
      StatusIs(absl::StatusCode::kNotFound, "job_id: \"x\" is unknown"));
  EXPECT_EQ(WithJobName(unknown, "team-a/x", kOlga), unknown);
  EXPECT_TRUE(WithJobName(absl::OkStatus(), "team-a/x", kAlice).ok());
}

}  // namespace
}  // namespace tangram
