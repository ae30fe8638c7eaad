#include "coordinator/auth/authenticator.h"

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/auth/served_methods.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using ::testing::UnorderedElementsAreArray;

// The roles that may call each method, by the first letters of plan, operate
// and work.
const std::map<std::string, std::string> kRolesOf = {
    {"/tangram.v1.Planner/Plan", "p"},
    {"/tangram.v1.Frontiers/Frontier", "p"},
    {"/tangram.v1.Jobs/SubmitJob", "p"},
    {"/tangram.v1.Jobs/GetJob", "po"},
    {"/tangram.v1.Jobs/WatchJob", "po"},
    {"/tangram.v1.Jobs/WaitJob", "po"},
    {"/tangram.v1.Jobs/ListJobs", "po"},
    {"/tangram.v1.Jobs/CancelJob", "po"},
    {"/tangram.v1.Jobs/UpdateJob", "po"},
    {"/tangram.v1.Jobs/RetryJob", "po"},
    {"/tangram.v1.Jobs/DeleteJob", "po"},
    {"/tangram.v1.Jobs/GetJobTrace", "po"},
    {"/tangram.v1.Tenants/GetTenantUsage", "po"},
    {"/tangram.v1.Tenants/ExportTenant", "po"},
    {"/tangram.v1.Tenants/EraseTenant", "o"},
    {"/tangram.v1.Status/GetStatus", "o"},
    {"/tangram.v1.Workers/ListWorkers", "o"},
    {"/tangram.v1.Workers/ReleaseWorker", "o"},
    {"/tangram.v1.WorkerPool/Work", "w"}};

class AuthenticatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = ::testing::TempDir() + "/authenticator_test.csv";
    std::ofstream(path) << "pppppppppppppppppppp,p,team,plan\n"
                           "oooooooooooooooooooo,o,,operate\n"
                           "wwwwwwwwwwwwwwwwwwww,w,,work\n";
    ASSERT_OK_AND_ASSIGN(authenticator_,
                         Authenticator::Create({.tokens_file = path}));
  }
  absl::Status MayCall(const std::string& path, char token) {
    return CheckMayCall(*authenticator_, path,
                        {.authorization = "Bearer " + std::string(20, token)});
  }

  std::unique_ptr<Authenticator> authenticator_;
};

TEST_F(AuthenticatorTest, TheTableOfRolesIsWhole) {
  std::vector<std::string> tested;
  for (const auto& [path, roles] : kRolesOf) tested.push_back(path);
  EXPECT_THAT(tested, UnorderedElementsAreArray(testing::ServedMethods()));
}

TEST_F(AuthenticatorTest, EachRoleMayCallItsMethodsAlone) {
  for (const auto& [path, roles] : kRolesOf) {
    for (const char role : {'p', 'o', 'w'}) {
      SCOPED_TRACE(path + " by " + role);
      if (roles.find(role) != std::string::npos) {
        EXPECT_THAT(MayCall(path, role), IsOk());
      } else {
        EXPECT_THAT(MayCall(path, role),
                    StatusIs(absl::StatusCode::kPermissionDenied,
                             HasSubstr("needs the role")));
      }
    }
    EXPECT_THAT(MayCall(path, 'x'), StatusIs(absl::StatusCode::kUnauthenticated,
                                             HasSubstr("token: unknown")));
    EXPECT_THAT(CheckMayCall(*authenticator_, path, {}),
                StatusIs(absl::StatusCode::kUnauthenticated,
                         HasSubstr("authorization: missing")));
  }
}

}  // namespace
}  // namespace tangram
