#include "coordinator/auth/method_roles.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/auth/served_methods.h"

namespace tangram {
namespace {

using ::testing::IsNull;
using ::testing::NotNull;
using testing::ServedMethods;

TEST(MethodRolesTest, EveryMethodNeedsARole) {
  const std::vector<std::string> methods = ServedMethods();
  EXPECT_GE(methods.size(), 7);
  for (const std::string& method : methods) {
    SCOPED_TRACE(method);
    const MethodAccess* access = FindMethodAccess(method);
    ASSERT_THAT(access, NotNull());
    EXPECT_FALSE(access->is_public);
    EXPECT_NE(access->any_of, Roles());
  }
}

TEST(MethodRolesTest, OtherMethodsAreUnknown) {
  EXPECT_THAT(FindMethodAccess("/tangram.v1.Jobs/DropAll"), IsNull());
  EXPECT_THAT(FindMethodAccess("/tangram.v1.Jobs/GetJob/"), IsNull());
  EXPECT_THAT(FindMethodAccess(""), IsNull());
}

}  // namespace
}  // namespace tangram
