#include "coordinator/rpc/memory_budget.h"

#include <optional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kMb = 1 << 20;

TEST(MemoryBudgetTest, RefusesWhatDoesNotFitBesideTheOthers) {
  MemoryBudget budget(100 * kMb);
  auto first = budget.Take(60 * kMb);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(
      budget.Take(50 * kMb),
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr("request: takes 50 MiB in memory; expected at most "
                         "40, which the requests under way leave of 100 "
                         "(--max_requests_mb); ask again when one has ended")));
  std::optional<MemoryBudget::Share> ended(*std::move(first));
  ended.reset();
  EXPECT_THAT(budget.Take(50 * kMb), IsOk());
}

TEST(MemoryBudgetTest, SaysWhatNeverFits) {
  MemoryBudget budget(100 * kMb);
  const auto other = budget.Take(60 * kMb);
  EXPECT_THAT(budget.Take(100 * kMb + 1),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("request: takes at least 101 MiB in memory; "
                                 "expected at most 100 (--max_requests_mb)")));
}

TEST(MemoryBudgetTest, ASmallerShareLeavesRoom) {
  MemoryBudget budget(100 * kMb);
  auto share = budget.Take(90 * kMb);
  ASSERT_THAT(share, IsOk());
  EXPECT_THAT(share->Resize(20 * kMb), IsOk());
  const auto other = budget.Take(80 * kMb);
  EXPECT_THAT(other, IsOk());
  EXPECT_THAT(share->Resize(21 * kMb),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("takes 21 MiB in memory; expected at most "
                                 "20")));
  EXPECT_THAT(share->Resize(20 * kMb), IsOk());
}

TEST(MemoryBudgetTest, ZeroIsNoLimit) {
  MemoryBudget budget(0);
  const auto share = budget.Take(int64_t{1} << 50);
  EXPECT_THAT(share, IsOk());
}

TEST(MemoryBudgetTest, ATenantHasOnlyItsPart) {
  MemoryBudget budget(10 << 20, /*max_of_tenant=*/6 << 20);
  auto first = budget.Take(4 << 20, "a");
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(budget.Take(3 << 20, "a").status(),
              testing::StatusIs(absl::StatusCode::kResourceExhausted,
                                ::testing::HasSubstr("of a tenant")));
  EXPECT_TRUE(budget.Take(6 << 20, "b").ok());
  EXPECT_TRUE(first->Resize(6 << 20).ok());
  EXPECT_FALSE(first->Resize(7 << 20).ok());
  *first = {};
  EXPECT_TRUE(budget.Take(6 << 20, "a").ok());
}

}  // namespace
}  // namespace tangram
