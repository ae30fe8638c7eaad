#include "coordinator/auth/token_table.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::Not;
using ::testing::Pointee;
using testing::StatusIs;

TEST(TokenTableTest, FindsCallers) {
  // Digest by: printf token-of-olga-0001 | sha256sum
  ASSERT_OK_AND_ASSIGN(
      const TokenTable table,
      TokenTable::Parse(
          "# who\n\n"
          "token-of-alice-01, alice, team-a, plan\r\n"
          "sha256:"
          "21b78bb31068b724a6a2941c9b9f4be9394b630a6ab23128b4c73f3c433e8f10"
          ",olga,ops,plan|operate\n"
          "cert:worker.example.org,w,,work"));
  const Caller alice = {
      .name = "alice", .tenant = "team-a", .roles = Roles() | Role::kPlan};
  const Caller worker = {.name = "w", .roles = Roles() | Role::kWork};

  EXPECT_THAT(table.FindToken("token-of-alice-01"), Pointee(alice));
  EXPECT_THAT(table.FindToken("token-of-olga-0001"),
              Pointee(Caller{.name = "olga",
                             .tenant = "ops",
                             .roles = Roles() | Role::kPlan | Role::kOperate}));
  EXPECT_THAT(table.FindCertificate("worker.example.org"), Pointee(worker));
  // A digest or a certificate's name is not a token.
  EXPECT_THAT(table.FindToken("cert:worker.example.org"), IsNull());
  EXPECT_THAT(table.FindToken("worker.example.org"), IsNull());
  EXPECT_THAT(table.FindToken(""), IsNull());
  EXPECT_THAT(table.FindCertificate("alice"), IsNull());
}

TEST(TokenTableTest, NamesTheLineAndNotTheToken) {
  const auto fails = [](const std::string& line, const std::string& why) {
    EXPECT_THAT(TokenTable::Parse("# first\n" + line).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(why), Not(HasSubstr("secret")))));
  };
  fails("my-secret-token-1,alice,team-a", "line 2: 3 fields");
  fails("secret,alice,team-a,plan", "line 2.token: 6 characters; expected at");
  fails("my secret token 1,alice,team-a,plan", "line 2.token: 17 characters");
  fails("my-secret-token-1,,team-a,plan", "line 2.name: \"\"");
  fails("my-secret-token-1,alice,,plan", "line 2.tenant: missing");
  fails("my-secret-token-1,alice,a/b,plan", "line 2.tenant: \"a/b\"");
  fails("my-secret-token-1,alice,..,plan", "line 2.tenant: \"..\"");
  fails("my-secret-token-1,alice,a,plan|root", "line 2.roles: \"root\"");
  fails("my-secret-token-1,alice,a,", "line 2.roles: \"\"");
  fails("sha256:secret,alice,a,plan", "line 2.sha256: expected 64");
  fails("my-secret-token-1,a,,work\nmy-secret-token-1,b,,work",
        "line 3: a token of an earlier line");
}

}  // namespace
}  // namespace tangram
