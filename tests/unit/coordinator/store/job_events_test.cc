// The ends of stored jobs that webhooks are told of.
#include "coordinator/store/job_events.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/store/job_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/job_store_fixture.h"

namespace tangram {
namespace {

using testing::IsOk;
using testing::IsOkAndHolds;

using JobEventsTest = testing::JobStoreTest;
INSTANTIATE_TEST_SUITE_P(All, JobEventsTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(JobEventsTest, TheWebhookOfAJobIsToldOfItsEnd) {
  Submit("quiet");
  Submit({.id = "a", .webhook = "https://example.org/"});
  EXPECT_THAT(store_->TakeDueEvent({}), IsOkAndHolds(std::nullopt));
  End();
  EXPECT_THAT(store_->TakeDueEvent({}), IsOkAndHolds(std::nullopt));
  End();
  ASSERT_OK_AND_ASSIGN(const auto first, store_->TakeDueEvent({}));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->job.id, "a");
  EXPECT_EQ(first->tries, 1);
  EXPECT_THAT(store_->TakeDueEvent({}), IsOkAndHolds(std::nullopt));
  now_s_ += 11;
  ASSERT_OK_AND_ASSIGN(const auto second, store_->TakeDueEvent({}));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->tries, 2);
  ASSERT_THAT(store_->SettleEvent(second->job), IsOk());
  now_s_ += 86400;
  EXPECT_THAT(store_->TakeDueEvent({}), IsOkAndHolds(std::nullopt));
}

TEST_P(JobEventsTest, AnEventOfAnEarlierEndSettlesNoOther) {
  Submit({.id = "a", .webhook = "https://example.org/"});
  ASSERT_THAT(store_->Cancel("a"), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto first, store_->TakeDueEvent({}));
  ASSERT_TRUE(first.has_value());
  now_s_ += 1;
  ASSERT_THAT(store_->Retry("a", 0), IsOk());
  ASSERT_THAT(store_->Cancel("a"), IsOk());
  ASSERT_THAT(store_->SettleEvent(first->job), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto second, store_->TakeDueEvent({}));
  ASSERT_TRUE(second.has_value());
  // Another job that has the id of a deleted one, and ends in the same instant.
  ASSERT_THAT(store_->Delete("a"), IsOk());
  Submit({.id = "a", .webhook = "https://example.org/"});
  ASSERT_THAT(store_->Cancel("a"), IsOk());
  ASSERT_THAT(store_->SettleEvent(second->job), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto third, store_->TakeDueEvent({}));
  EXPECT_TRUE(third.has_value());
}

TEST_P(JobEventsTest, AWebhookIsTriedOnlySomeTimes) {
  Submit({.id = "a", .webhook = "https://example.org/"});
  ASSERT_THAT(store_->Cancel("a"), IsOk());
  int tries = 0;
  for (int day = 0; day < 20; ++day) {
    ASSERT_OK_AND_ASSIGN(const auto due, store_->TakeDueEvent({}));
    if (due.has_value()) {
      EXPECT_EQ(due->tries, ++tries);
    }
    now_s_ += 86400;
  }
  EXPECT_EQ(tries, kMaxEventTries);
}

TEST_P(JobEventsTest, TenantsTakeTurnsWithTheirWebhooks) {
  for (const char* id : {"a/1", "a/2", "a/3", "b/1", "c/1", "c/2"}) {
    Submit({.id = id, .webhook = "https://example.org/"});
    ASSERT_THAT(store_->Cancel(id), IsOk());
    now_s_ += 0.1;
  }
  EventTurn turn;
  std::string order;
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto due, store_->TakeDueEvent(turn));
    ASSERT_TRUE(due.has_value());
    absl::StrAppend(&order, due->job.id, " ");
    turn.last = due->job.share_key;
  }
  EXPECT_EQ(order, "a/1 b/1 c/1 a/2 c/2 ");
  turn.busy = {"b", "a"};
  EXPECT_THAT(store_->TakeDueEvent(turn), IsOkAndHolds(std::nullopt));
  turn.busy = {"b"};
  ASSERT_OK_AND_ASSIGN(const auto due, store_->TakeDueEvent(turn));
  EXPECT_EQ(due->job.id, "a/3");
}

}  // namespace
}  // namespace tangram
