#include "coordinator/store/sqlite_job_store.h"

#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::SizeIs;
using testing::StatusIs;

auto HasId(const std::string& id) { return Field("id", &Job::id, id); }

class SqliteJobStoreTest : public ::testing::Test {
 protected:
  SqliteJobStoreTest()
      : folder_(
            ::testing::TempDir() + "/jobs_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    Reopen();
  }
  ~SqliteJobStoreTest() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Reopen() {
    store_.reset();
    auto store = OpenSqliteJobStore(path(), [this] { return now_s_; });
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
  }

  std::string path() const { return folder_ + "/jobs.db"; }
  void Submit(const std::string& id, int priority = 0) {
    ASSERT_THAT(store_->Submit(
                    {.id = id, .request = "plan " + id, .priority = priority}),
                IsOk());
  }
  // The id of the next job, or "".
  std::string Claim(const std::string& owner, double lease_s = 10) {
    const auto job = store_->Claim(owner, lease_s);
    EXPECT_THAT(job, IsOk());
    return job.ok() && job->has_value() ? (*job)->id : "";
  }
  Job Get(const std::string& id) {
    const auto job = store_->Get(id);
    EXPECT_THAT(job, IsOk());
    return job.ok() ? *job : Job{};
  }

  const std::string folder_;
  double now_s_ = 1000;
  std::unique_ptr<JobStore> store_;
};

TEST_F(SqliteJobStoreTest, SubmittingAgainIsTheSameJob) {
  Submit("a");
  now_s_ = 2000;
  ASSERT_OK_AND_ASSIGN(const Job again,
                       store_->Submit({.id = "a", .request = "plan a"}));

  EXPECT_EQ(again.submitted_s, 1000);
  EXPECT_THAT(store_->Submit({.id = "a", .request = "another"}).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("\"a\"")));
  EXPECT_EQ(Get("a").request, "plan a");
}

TEST_F(SqliteJobStoreTest, UnknownJobsAreNotFound) {
  for (const absl::Status& status :
       {store_->Get("x").status(), store_->Cancel("x").status(),
        store_->EventsAfter("x", 0).status(),
        store_->List({.before_id = "x"}).status()}) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"x\"")));
  }
}

TEST_F(SqliteJobStoreTest, TheMostUrgentRunsFirstThenTheOldest) {
  Submit("old");
  Submit("new");
  Submit("urgent", /*priority=*/5);

  EXPECT_EQ(Claim("me"), "urgent");
  EXPECT_EQ(Claim("me"), "old");
  EXPECT_EQ(Claim("me"), "new");
  EXPECT_EQ(Claim("me"), "");
}

TEST_F(SqliteJobStoreTest, AResultIsKeptWithAllElse) {
  Submit("a");
  Claim("me");
  now_s_ = 1005;
  EXPECT_THAT(store_->AppendEvent("a", "me", "half"), IsOk());
  const std::string result("\0plan\xff", 6);
  EXPECT_THAT(
      store_->Finish(
          {.id = "a", .state = JobState::kSucceeded, .result = result}, "me"),
      IsOk());
  Reopen();

  const Job job = Get("a");
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.result, result);
  EXPECT_EQ(job.request, "plan a");
  EXPECT_EQ(job.started_s, 1000);
  EXPECT_EQ(job.finished_s, 1005);
  EXPECT_EQ(job.attempts, 1);
  ASSERT_OK_AND_ASSIGN(const auto events, store_->EventsAfter("a", 0));
  EXPECT_THAT(events, ElementsAre(JobEvent{1, "half"}));
}

TEST_F(SqliteJobStoreTest, AnErrorIsKept) {
  Submit("a");
  Claim("me");
  ASSERT_THAT(
      store_->Finish({.id = "a",
                      .state = JobState::kFailed,
                      .error = absl::InternalError("aceso: wrong answer")},
                     "me"),
      IsOk());

  EXPECT_EQ(Get("a").error, absl::InternalError("aceso: wrong answer"));
}

TEST_F(SqliteJobStoreTest, EventsAreReadFromAnyPoint) {
  Submit("a");
  Claim("me");
  for (const char* progress : {"one", "two", "three"}) {
    ASSERT_THAT(store_->AppendEvent("a", "me", progress), IsOk());
  }

  ASSERT_OK_AND_ASSIGN(const auto events, store_->EventsAfter("a", 1));
  EXPECT_THAT(events, ElementsAre(JobEvent{2, "two"}, JobEvent{3, "three"}));
}

TEST_F(SqliteJobStoreTest, AQueuedJobIsCancelledAtOnce) {
  Submit("a");
  ASSERT_OK_AND_ASSIGN(const Job job, store_->Cancel("a"));

  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_EQ(job.finished_s, 1000);
  EXPECT_EQ(Claim("me"), "");
}

TEST_F(SqliteJobStoreTest, TheOwnerOfARunningJobLearnsThatItIsCancelled) {
  Submit("a");
  Claim("me");
  ASSERT_OK_AND_ASSIGN(const Job job, store_->Cancel("a"));
  EXPECT_EQ(job.state, JobState::kRunning);

  ASSERT_OK_AND_ASSIGN(const auto held, store_->Renew("me", 10));
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_TRUE(held[0].cancel_requested);
}

TEST_F(SqliteJobStoreTest, CancellingAFinishedJobChangesNothing) {
  Submit("a");
  Claim("me");
  ASSERT_THAT(store_->Finish({.id = "a", .state = JobState::kSucceeded}, "me"),
              IsOk());
  ASSERT_OK_AND_ASSIGN(const Job job, store_->Cancel("a"));

  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_FALSE(job.cancel_requested);
}

TEST_F(SqliteJobStoreTest, AJobWhoseLeaseHasEndedIsTakenOver) {
  Submit("a");
  EXPECT_EQ(Claim("dead", 10), "a");
  now_s_ = 1009;
  EXPECT_EQ(Claim("me"), "");
  now_s_ = 1011;
  EXPECT_EQ(Claim("me"), "a");

  EXPECT_EQ(Get("a").attempts, 2);
  EXPECT_THAT(
      store_->AppendEvent("a", "dead", "late"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("dead")));
  EXPECT_THAT(
      store_->Finish({.id = "a", .state = JobState::kFailed}, "dead"),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("dead")));
  EXPECT_EQ(Get("a").state, JobState::kRunning);
  ASSERT_OK_AND_ASSIGN(const auto events, store_->EventsAfter("a", 0));
  EXPECT_THAT(events, IsEmpty());
}

TEST_F(SqliteJobStoreTest, WhoeverOpensTheFileTakesOverItsJobs) {
  Submit("a");
  EXPECT_EQ(Claim("dead", 10), "a");
  Reopen();

  EXPECT_EQ(Claim("me"), "a");
}

TEST_F(SqliteJobStoreTest, ARenewedLeaseHolds) {
  Submit("a");
  EXPECT_EQ(Claim("me", 10), "a");
  now_s_ = 1009;
  ASSERT_OK_AND_ASSIGN(const auto held, store_->Renew("me", 10));
  EXPECT_THAT(held, ElementsAre(HasId("a")));
  now_s_ = 1018;

  EXPECT_EQ(Claim("other"), "");
}

TEST_F(SqliteJobStoreTest, ReleasedJobsAreQueuedAgain) {
  Submit("a");
  EXPECT_EQ(Claim("me"), "a");
  ASSERT_THAT(store_->Release("a", "me"), IsOk());

  EXPECT_EQ(Claim("other"), "a");
}

TEST_F(SqliteJobStoreTest, ListsPagesFromTheNewestOn) {
  for (const char* id : {"a", "b", "c", "d"}) Submit(id);
  EXPECT_EQ(Claim("me"), "a");

  ASSERT_OK_AND_ASSIGN(const auto first, store_->List({.limit = 2}));
  EXPECT_THAT(first, ElementsAre(HasId("d"), HasId("c")));
  ASSERT_OK_AND_ASSIGN(const auto second,
                       store_->List({.limit = 2, .before_id = "c"}));
  EXPECT_THAT(second, ElementsAre(HasId("b"), HasId("a")));
  ASSERT_OK_AND_ASSIGN(const auto queued,
                       store_->List({.states = {JobState::kQueued}}));
  EXPECT_THAT(queued, ElementsAre(HasId("d"), HasId("c"), HasId("b")));
}

TEST_F(SqliteJobStoreTest, TwoProcessesCannotHaveTheSameFile) {
  EXPECT_THAT(OpenSqliteJobStore(path(), [] { return 0.0; }).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("locked")));
}

TEST_F(SqliteJobStoreTest, WhatIsNoDatabaseIsLeftAlone) {
  const std::string other = folder_ + "/text";
  FILE* file = fopen(other.c_str(), "w");
  const std::string text(5000, 'x');
  fputs(text.c_str(), file);
  fclose(file);

  EXPECT_FALSE(OpenSqliteJobStore(other, [] { return 0.0; }).ok());
  EXPECT_EQ(std::filesystem::file_size(other), 5000u);
}

TEST_F(SqliteJobStoreTest, EachJobIsClaimedOnce) {
  constexpr int kJobs = 60;
  for (int i = 0; i < kJobs; ++i) Submit("job" + std::to_string(i));
  std::atomic<int> claimed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      while (!Claim("owner" + std::to_string(t)).empty()) ++claimed;
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(claimed, kJobs);
}

}  // namespace
}  // namespace tangram
