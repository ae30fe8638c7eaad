#include "coordinator/rpc/tenant_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

TEST(TenantQuotaTest, AnEndedWatchMakesRoom) {
  TenantQuota quota({.max_watches = 2});
  auto first = quota.BeginWatch("a");
  const auto second = quota.BeginWatch("a");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_THAT(quota.BeginWatch("a").status(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("tenant \"a\" has 2 watches under way")));
  first->reset();
  EXPECT_TRUE(quota.BeginWatch("a").ok());
}

TEST(TenantQuotaTest, TenantsAndKindsOfCallsCountApart) {
  TenantQuota quota({.max_calls = 1, .max_watches = 1});
  const auto watch = quota.BeginWatch("a");
  const auto call = quota.BeginCall("a");
  const auto other = quota.BeginWatch("b");
  EXPECT_TRUE(watch.ok() && call.ok() && other.ok());
  EXPECT_FALSE(quota.BeginCall("a").ok());
  EXPECT_FALSE(quota.BeginWatch("b").ok());
}

TEST(TenantQuotaTest, ZeroIsAnyNumber) {
  TenantQuota quota({});
  const auto first = quota.BeginWatch("a");
  const auto second = quota.BeginWatch("a");
  EXPECT_TRUE(first.ok() && second.ok());
}

}  // namespace
}  // namespace tangram
