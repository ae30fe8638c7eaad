#include "coordinator/rpc/tenant_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;

double Now() { return 0; }

TEST(TenantQuotaTest, AnEndedWatchMakesRoom) {
  TenantQuota quota({.max_watches = 2}, Now);
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
  TenantQuota quota({.max_calls = 1, .max_watches = 1}, Now);
  const auto watch = quota.BeginWatch("a");
  const auto call = quota.BeginCall("a");
  const auto other = quota.BeginWatch("b");
  EXPECT_TRUE(watch.ok() && call.ok() && other.ok());
  EXPECT_FALSE(quota.BeginCall("a").ok());
  EXPECT_FALSE(quota.BeginWatch("b").ok());
}

TEST(TenantQuotaTest, ZeroIsAnyNumber) {
  TenantQuota quota({}, Now);
  const auto first = quota.BeginWatch("a");
  const auto second = quota.BeginWatch("a");
  EXPECT_TRUE(first.ok() && second.ok());
}

TEST(TenantQuotaTest, WhatIsKeptOfATenantIsLimited) {
  const TenantQuota quota({.max_unfinished_jobs = 2,
                           .max_ended_jobs = 3,
                           .max_stored_bytes = 1 << 20},
                          Now);
  EXPECT_TRUE(quota
                  .CheckJobs("a", {.unfinished_jobs = 1,
                                   .ended_jobs = 2,
                                   .bytes = (1 << 20) - 1})
                  .ok());
  for (const auto& [usage, flag] :
       {std::pair{TenantUsage{.unfinished_jobs = 2}, "--max_jobs_per_tenant"},
        std::pair{TenantUsage{.ended_jobs = 3}, "--max_ended_jobs_per_tenant"},
        std::pair{TenantUsage{.bytes = 1 << 20},
                  "--max_stored_mb_per_tenant"}}) {
    EXPECT_THAT(
        quota.CheckJobs("a", usage),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(flag)));
  }
}

TEST(TenantQuotaTest, ARetryFreesAPlaceOfAnEndedJob) {
  const TenantQuota quota({.max_unfinished_jobs = 2, .max_ended_jobs = 3}, Now);
  EXPECT_TRUE(quota.CheckRetry("a", {.ended_jobs = 3}).ok());
  EXPECT_THAT(quota.CheckRetry("a", {.unfinished_jobs = 2}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("--max_jobs_per_tenant")));
}

}  // namespace
}  // namespace tangram
