// Settings of stored jobs, their changes, cancelling, and deadlines.
#include "coordinator/store/change_job.h"

#include <optional>
#include <utility>

#include "coordinator/store/job_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/job_store_fixture.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::SizeIs;
using testing::StatusIs;

using ChangeJobTest = testing::JobStoreTest;
INSTANTIATE_TEST_SUITE_P(All, ChangeJobTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(ChangeJobTest, SettingsAreKeptWithTheJob) {
  const Job asked{.id = "a",
                  .submitted_s = 70'000,  // By the clock of the submitter.
                  .labels = {{"run", "7"}, {"team", ""}},
                  .deadline_s = 71'000,
                  .keep_s = 60,
                  .webhook = "https://example.org/hook"};
  Submit(asked);
  const JobLease lease = Lease("me");
  now_s_ = 1e9;  // The clock has jumped, and is right again.
  ASSERT_THAT(store_->Release(lease, {.ran_s = 3}), IsOk());
  now_s_ = 1003;
  Reopen();

  const Job job = Get("a");
  EXPECT_EQ(job.labels, asked.labels);
  EXPECT_EQ(job.submitted_s, 1000);
  EXPECT_EQ(job.deadline_s, 2000);
  EXPECT_EQ(job.keep_s, 60);
  EXPECT_EQ(job.webhook, asked.webhook);
  EXPECT_EQ(job.ran_s, 3);
  ASSERT_OK_AND_ASSIGN(const auto listed, store_->List({}));
  EXPECT_EQ(listed.at(0).labels, asked.labels);
}

TEST_P(ChangeJobTest, SettingsOfAJobThatWaitsChange) {
  Submit("slow");
  Submit("b");
  ASSERT_OK_AND_ASSIGN(const Job job,
                       store_->Update("b", {.priority = 3,
                                            .labels = {{{"run", "8"}}},
                                            .deadline_s = 5000}));
  EXPECT_EQ(job.priority, 3);
  EXPECT_EQ(Claim("me"), "b");
  EXPECT_THAT(Get("b").labels, ElementsAre(std::pair("run", "8")));
  // A running one changes too, and its lease goes on.
  ASSERT_THAT(store_->Update("b", {.priority = 4}), IsOk());
  EXPECT_EQ(Get("b").state, JobState::kRunning);
  EXPECT_EQ(Get("b").deadline_s, 5000);
  ASSERT_THAT(store_->Update("b", {.timeout_s = 7}), IsOk());
  EXPECT_EQ(Get("b").deadline_s, 1007);
  ASSERT_THAT(store_->Update("b", {.timeout_s = 0}), IsOk());
  EXPECT_EQ(Get("b").deadline_s, 0);
}

TEST_P(ChangeJobTest, OfAJobThatHasEndedOnlySomeSettingsChange) {
  Submit("a");
  End();
  EXPECT_THAT(
      store_->Update("a", {.priority = 3}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has ended")));
  EXPECT_THAT(store_->Update("a", {.labels = {{{"x", "y"}}}, .keep_s = 5}),
              IsOk());
  EXPECT_EQ(Get("a").keep_s, 5);
  EXPECT_EQ(Get("a").priority, 0);
}

TEST_P(ChangeJobTest, AQueuedJobIsCancelledAtOnce) {
  Submit("a");
  ASSERT_OK_AND_ASSIGN(const Job job, store_->Cancel("a"));

  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_EQ(job.finished_s, 1000);
  EXPECT_EQ(Claim("me"), "");
}

TEST_P(ChangeJobTest, TheOwnerOfARunningJobLearnsThatItIsCancelled) {
  Submit("a");
  const JobLease lease = Lease("me");
  ASSERT_OK_AND_ASSIGN(const Job job, store_->Cancel("a"));
  EXPECT_EQ(job.state, JobState::kRunning);
  EXPECT_EQ(Claim("heir"), "");

  ASSERT_OK_AND_ASSIGN(const auto held, store_->Renew({lease}, 10));
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_TRUE(held[0].cancel_requested);
}

TEST_P(ChangeJobTest, CancellingAFinishedJobChangesNothing) {
  Submit("a");
  const JobLease lease = Lease("me");
  ASSERT_THAT(store_->Finish(lease, {.state = JobState::kSucceeded}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Job job, store_->Cancel("a"));

  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_FALSE(job.cancel_requested);
}

TEST_P(ChangeJobTest, AFailedJobIsTriedAgain) {
  Submit({.id = "a", .deadline_s = 30});
  ASSERT_THAT(store_->Release(Lease("me"), {.delay_s = 60}), IsOk());
  EXPECT_TRUE(store_->Pulse("a")->is_put_back);
  now_s_ = 1030;
  ASSERT_THAT(store_->EndOverdue(10), IsOkAndHolds(1));
  ASSERT_OK_AND_ASSIGN(const Job queued, store_->Retry("a", 5));
  EXPECT_EQ(queued.state, JobState::kQueued);
  EXPECT_EQ(queued.deadline_s, 1035);
  EXPECT_THAT(queued.error, IsOk());
  EXPECT_FALSE(store_->Pulse("a")->is_put_back);
  End();
  EXPECT_EQ(Get("a").state, JobState::kSucceeded);
  EXPECT_THAT(store_->Retry("a", 0).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has succeeded")));
}

TEST_P(ChangeJobTest, AJobFailsAtItsDeadline) {
  Submit({.id = "waits", .priority = -1, .deadline_s = 50});
  Submit({.id = "runs", .deadline_s = 60});
  const JobLease lease = Lease("me", 100);
  EXPECT_EQ(lease.job_id, "runs");
  EXPECT_THAT(store_->EndOverdue(10), IsOkAndHolds(0));
  now_s_ = 1050;
  EXPECT_EQ(Claim("other"), "");
  EXPECT_THAT(store_->EndOverdue(10), IsOkAndHolds(1));
  EXPECT_THAT(Get("waits").error,
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("\"waits\" has not ended by its deadline")));
  // Its owner hears of it, and has a minute from the end of its lease on.
  ASSERT_OK_AND_ASSIGN(const auto early, store_->Renew({lease}, 10));
  EXPECT_THAT(early.at(0).error, IsOk());
  now_s_ = 1061;
  ASSERT_OK_AND_ASSIGN(const auto late, store_->Renew({lease}, 10));
  EXPECT_THAT(late.at(0).error, StatusIs(absl::StatusCode::kDeadlineExceeded,
                                         HasSubstr("deadline")));
  EXPECT_THAT(store_->EndOverdue(10), IsOkAndHolds(0));
  now_s_ = 1132;
  EXPECT_EQ(Claim("other"), "");
  EXPECT_THAT(store_->EndOverdue(10), IsOkAndHolds(1));
}

}  // namespace
}  // namespace tangram
