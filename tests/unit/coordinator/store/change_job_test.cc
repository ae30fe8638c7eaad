// Settings of stored jobs, their changes, lists, deadlines and deletion.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/store/sql_job_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::Not;
using ::testing::SizeIs;
using testing::StatusIs;

class JobSettingsTest : public testing::DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    if (!IsSkipped()) Reopen();
  }
  void TearDown() override {
    store_.reset();
    DatabaseTest::TearDown();
  }
  void Reopen() {
    store_.reset();
    auto store = CreateSqlJobStore(Open(), [this] { return now_s_; });
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
  }
  void Submit(Job job) {
    job.request = absl::StrCat("plan ", job.id);
    if (job.share_key.empty()) job.share_key = TenantOf(job.id);
    ASSERT_THAT(store_->Submit(job), IsOk());
  }
  JobLease Lease(const std::string& owner, double lease_s = 10) {
    const auto job = store_->Claim(owner, lease_s, 0);
    EXPECT_THAT(job, IsOk());
    return job.ok() && job->has_value() ? LeaseOf(**job) : JobLease{};
  }
  void End(JobState state = JobState::kSucceeded) {
    ASSERT_THAT(store_->Finish(Lease("me"), {.state = state}), IsOk());
  }
  Job Get(const std::string& id) {
    const auto job = store_->Get(id);
    EXPECT_THAT(job, IsOk());
    return job.ok() ? *job : Job{};
  }
  std::vector<std::string> Ids(const JobFilter& filter) {
    std::vector<std::string> ids;
    const auto jobs = store_->List(filter);
    EXPECT_THAT(jobs, IsOk());
    if (jobs.ok()) {
      for (const Job& job : *jobs) ids.push_back(job.id);
    }
    return ids;
  }
  void LetTheClockCatchUp() {
    for (int i = 0; i < 60; ++i) {
      EXPECT_THAT(store_->Forget(/*age_s=*/1e9, /*limit=*/1), IsOk());
    }
  }

  double now_s_ = 1000;
  std::unique_ptr<JobStore> store_;
};

INSTANTIATE_TEST_SUITE_P(All, JobSettingsTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(JobSettingsTest, SettingsAreKeptWithTheJob) {
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

TEST_P(JobSettingsTest, ListsAreInTheOrderAskedFor) {
  for (const auto& [id, priority] :
       {std::pair{"b", 1}, std::pair{"a", 5}, std::pair{"c", 1}}) {
    Submit({.id = id, .priority = priority});
    now_s_ += 1;
  }
  using Key = JobOrder::Key;
  EXPECT_THAT(Ids({}), ElementsAre("c", "a", "b"));
  EXPECT_THAT(Ids({.order = {Key::kSubmitted, false}}),
              ElementsAre("b", "a", "c"));
  EXPECT_THAT(Ids({.order = {Key::kPriority, true}}),
              ElementsAre("a", "c", "b"));
  EXPECT_THAT(Ids({.order = {Key::kId, false}}), ElementsAre("a", "b", "c"));
  for (const JobOrder order :
       {JobOrder{Key::kPriority, true}, JobOrder{Key::kId, true},
        JobOrder{Key::kSubmitted, false}, JobOrder{Key::kStarted, false},
        JobOrder{Key::kFinished, true}}) {
    std::vector<std::string> one_by_one;
    std::optional<JobCursor> after;
    while (true) {
      const auto page =
          store_->List({.limit = 1, .order = order, .after = after});
      ASSERT_THAT(page, IsOk());
      if (page->empty()) break;
      one_by_one.push_back(page->at(0).id);
      after = CursorAt(page->at(0), order);
      ASSERT_LT(one_by_one.size(), 5);
    }
    EXPECT_EQ(one_by_one, Ids({.order = order}));
  }
}

TEST_P(JobSettingsTest, APlaceInAListSurvivesTheDeletionOfItsJob) {
  for (const char* id : {"a", "b", "c"}) {
    Submit({.id = id});
    now_s_ += 1;
  }
  for (int i = 0; i < 3; ++i) End();
  for (const JobOrder order :
       {JobOrder{}, JobOrder{JobOrder::Key::kPriority}}) {
    const JobCursor after = CursorAt(Get("b"), order);
    ASSERT_THAT(store_->Delete("b"), IsOk());
    EXPECT_THAT(Ids({.order = order, .after = after}), ElementsAre("a"));
    now_s_ = 1001;
    Submit({.id = "b"});
    End();
  }
}

TEST_P(JobSettingsTest, SettingsOfAJobThatWaitsChange) {
  Submit({.id = "slow"});
  Submit({.id = "b"});
  ASSERT_OK_AND_ASSIGN(const Job job,
                       store_->Update("b", {.priority = 3,
                                            .labels = {{{"run", "8"}}},
                                            .deadline_s = 5000}));
  EXPECT_EQ(job.priority, 3);
  EXPECT_EQ(Lease("me").job_id, "b");
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

TEST_P(JobSettingsTest, DelaysEnd) {
  Submit({.id = "a"});
  ASSERT_THAT(store_->Release(Lease("me"), {.delay_s = 60}), IsOk());
  EXPECT_EQ(Lease("me").job_id, "");
  ASSERT_THAT(store_->EndDelays(), IsOk());
  Submit({.id = "b"});
  EXPECT_EQ(Lease("me").job_id, "a");
}

TEST_P(JobSettingsTest, AClockThatIsSetBackDelaysNoJob) {
  Submit({.id = "a"});
  ASSERT_THAT(store_->Release(Lease("me"), {.delay_s = 60}), IsOk());
  now_s_ -= 100;
  EXPECT_EQ(Lease("me").job_id, "a");
}

TEST_P(JobSettingsTest, AJobToCancelDoesNotWait) {
  Submit({.id = "a"});
  const JobLease lease = Lease("me");
  ASSERT_THAT(store_->Cancel("a"), IsOk());
  ASSERT_THAT(store_->Release(lease, {.delay_s = 60}), IsOk());
  EXPECT_EQ(Lease("me").job_id, "a");
}

TEST_P(JobSettingsTest, OfAJobThatHasEndedOnlySomeSettingsChange) {
  Submit({.id = "a"});
  End();
  EXPECT_THAT(
      store_->Update("a", {.priority = 3}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("has ended")));
  EXPECT_THAT(store_->Update("a", {.labels = {{{"x", "y"}}}, .keep_s = 5}),
              IsOk());
  EXPECT_EQ(Get("a").keep_s, 5);
  EXPECT_EQ(Get("a").priority, 0);
}

TEST_P(JobSettingsTest, AFailedJobIsTriedAgain) {
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

TEST_P(JobSettingsTest, OnlyAJobThatHasEndedIsDeleted) {
  Submit({.id = "a"});
  EXPECT_THAT(store_->Delete("a"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has not ended")));
  const JobLease lease = Lease("me");
  EXPECT_THAT(store_->AppendEvent(lease, "half"), IsOk());
  EXPECT_THAT(store_->Delete("a"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has not ended")));
  ASSERT_THAT(store_->Finish(lease, {.state = JobState::kFailed}), IsOk());
  EXPECT_THAT(store_->Delete("a"), IsOk());
  EXPECT_THAT(store_->Get("a").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("unknown")));
  Submit({.id = "a"});
  EXPECT_THAT(store_->EventsAfter("a", 0), IsOkAndHolds(SizeIs(0)));
}

TEST_P(JobSettingsTest, AllJobsOfATenantAreErased) {
  for (const char* id : {"a/x", "a/y", "a/z", "ab/x"}) Submit({.id = id});
  const JobLease lease = Lease("me");
  EXPECT_THAT(store_->Erase("a", 2), IsOkAndHolds(2));
  EXPECT_THAT(store_->Erase("a", 2), IsOkAndHolds(1));
  EXPECT_THAT(Ids({}), ElementsAre("ab/x"));
  EXPECT_THAT(store_->Renew({lease}, 10), IsOkAndHolds(SizeIs(0)));
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_P(JobSettingsTest, NothingOfAnErasedTenantIsLeftInTheFiles) {
  if (is_shared()) GTEST_SKIP() << "the files are the server's";
  Submit({.id = "secret/x", .labels = {{"who", "secret"}}});
  EXPECT_THAT(ReadFile(file() + "-wal"), HasSubstr("secret"));
  EXPECT_THAT(store_->Erase("secret", 100), IsOkAndHolds(1));
  for (const char* suffix : {"", "-wal"}) {
    EXPECT_THAT(ReadFile(file() + suffix), Not(HasSubstr("secret"))) << suffix;
  }
}

TEST_P(JobSettingsTest, UsageIsCountedByTenant) {
  Submit({.id = "a/x"});  // Its request has 8 bytes.
  Submit({.id = "a/y"});
  Submit({.id = "b/x"});
  ASSERT_THAT(store_->Finish(Lease("me"), {.state = JobState::kSucceeded,
                                           .result = "12345"}),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const TenantUsage usage, store_->Usage("a"));
  EXPECT_EQ(usage.unfinished_jobs, 1);
  EXPECT_EQ(usage.ended_jobs, 1);
  EXPECT_EQ(usage.bytes, 8 + 8 + 5);
}

TEST_P(JobSettingsTest, AJobFailsAtItsDeadline) {
  Submit({.id = "waits", .priority = -1, .deadline_s = 50});
  Submit({.id = "runs", .deadline_s = 60});
  const JobLease lease = Lease("me", 100);
  EXPECT_EQ(lease.job_id, "runs");
  EXPECT_THAT(store_->EndOverdue(10), IsOkAndHolds(0));
  now_s_ = 1050;
  EXPECT_EQ(Lease("other").job_id, "");
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
  EXPECT_EQ(Lease("other").job_id, "");
  EXPECT_THAT(store_->EndOverdue(10), IsOkAndHolds(1));
}

TEST_P(JobSettingsTest, AJobThatIsPutBackForAWhileComesLater) {
  Submit({.id = "a"});
  Submit({.id = "b"});
  const JobLease lease = Lease("me");
  EXPECT_THAT(store_->HasRival(Get("a"), false), IsOkAndHolds(true));
  ASSERT_THAT(store_->Release(lease, {.delay_s = 5}), IsOk());
  EXPECT_EQ(Lease("me").job_id, "b");
  EXPECT_EQ(Lease("me").job_id, "");
  EXPECT_THAT(store_->HasRival(Get("b"), true), IsOkAndHolds(false));
  EXPECT_THAT(store_->CountWaiting(), IsOkAndHolds(1));
  now_s_ = 1006;
  Submit({.id = "c"});
  EXPECT_EQ(Lease("me").job_id, "c");
  EXPECT_EQ(Lease("me").job_id, "a");
}

TEST_P(JobSettingsTest, OnlyAsUrgentJobsOrThoseOfOthersAreRivals) {
  Submit({.id = "a/runs", .priority = 1});
  Lease("me");
  const Job running = Get("a/runs");
  Submit({.id = "a/idle"});
  EXPECT_THAT(store_->HasRival(running, true), IsOkAndHolds(false));
  Submit({.id = "b/x"});
  EXPECT_THAT(store_->HasRival(running, false), IsOkAndHolds(false));
  EXPECT_THAT(store_->HasRival(running, true), IsOkAndHolds(true));
}

// Two attempts that die at the same place differ by an event or two.
TEST_P(JobSettingsTest, OnlyProgressMakesGoodLostCoordinators) {
  Submit({.id = "a"});
  const auto run = [this](const std::string& owner, int num_events) {
    const JobLease lease = Lease(owner);
    for (int i = 0; i < num_events; ++i) {
      ASSERT_THAT(store_->AppendEvent(lease, "more"), IsOk());
    }
    now_s_ += 11;
  };
  run("one", 20);
  run("two", 22);
  run("three", 21);
  EXPECT_EQ(Get("a").losses, 2);
  run("four", 40);
  EXPECT_EQ(Get("a").losses, 0);
  run("five", 41);
  EXPECT_EQ(Get("a").losses, 1);
  EXPECT_EQ(Get("a").attempts, 5);
}

TEST_P(JobSettingsTest, TheWebhookOfAJobIsToldOfItsEnd) {
  Submit({.id = "quiet"});
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

TEST_P(JobSettingsTest, AnEventOfAnEarlierEndSettlesNoOther) {
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

TEST_P(JobSettingsTest, AWebhookIsTriedOnlySomeTimes) {
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

TEST_P(JobSettingsTest, TenantsTakeTurnsWithTheirWebhooks) {
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

TEST_P(JobSettingsTest, AJobIsKeptAsLongAsItSays) {
  Submit({.id = "short", .keep_s = 20});
  Submit({.id = "long", .keep_s = 500});
  Submit({.id = "usual"});
  for (int i = 0; i < 3; ++i) End();
  now_s_ = 1150;
  std::vector<int> deleted;
  for (int call = 0; call < 30; ++call) {
    ASSERT_OK_AND_ASSIGN(const int count, store_->Forget(100, 10));
    if (count > 0) deleted.push_back(count);
  }
  EXPECT_THAT(deleted, ElementsAre(1, 1));  // "short" first.
  EXPECT_THAT(Ids({}), ElementsAre("long"));
}

TEST_P(JobSettingsTest, AClockThatJumpsDeletesNothingForDays) {
  Submit({.id = "a"});
  End();
  LetTheClockCatchUp();
  now_s_ += 10 * 365 * 86400.;
  for (int call = 0; call < 1000; ++call) {
    ASSERT_THAT(store_->Forget(30 * 86400., 10), IsOkAndHolds(0));
  }
  Reopen();  // Neither does a restart, which may come often.
  ASSERT_THAT(store_->Forget(30 * 86400., 10), IsOkAndHolds(0));
  // The clock is right again, and the time of the database never goes back.
  now_s_ = 1200;
  ASSERT_THAT(store_->Forget(30 * 86400., 10), IsOkAndHolds(0));
  EXPECT_EQ(Get("a").state, JobState::kSucceeded);
}

TEST_P(JobSettingsTest, AClockThatBeganInTheFutureDeletesNothing) {
  now_s_ += 10 * 365 * 86400.;
  LetTheClockCatchUp();  // There is no job yet.
  now_s_ = 1000;
  Submit({.id = "a"});
  End();
  ASSERT_THAT(store_->Forget(30 * 86400., 10), IsOkAndHolds(0));
  EXPECT_EQ(Get("a").state, JobState::kSucceeded);
}

}  // namespace
}  // namespace tangram
