// Submitting, claiming, leases, progress and results of stored jobs.
#include "coordinator/store/sql_job_store.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/job_store_fixture.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::SizeIs;
using testing::StatusIs;

auto HasId(const std::string& id) { return Field("id", &Job::id, id); }

using SqlJobStoreTest = testing::JobStoreTest;
INSTANTIATE_TEST_SUITE_P(All, SqlJobStoreTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(SqlJobStoreTest, SubmittingAgainIsTheSameJob) {
  Submit("a");
  now_s_ = 2000;
  ASSERT_OK_AND_ASSIGN(const Job again,
                       store_->Submit({.id = "a", .request = "plan a"}));

  EXPECT_EQ(again.submitted_s, 1000);
  EXPECT_THAT(store_->Submit({.id = "a", .request = "another"}).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("\"a\"")));
  EXPECT_EQ(Get("a").request, "plan a");
}

TEST_P(SqlJobStoreTest, UnknownJobsAreNotFound) {
  for (const absl::Status& status :
       {store_->Get("x").status(), store_->Cancel("x").status(),
        store_->EventsAfter("x", 0).status(), store_->Update("x", {}).status(),
        store_->Retry("x", 0).status(), store_->Delete("x")}) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"x\"")));
  }
}

// Quotes and other special characters of SQL are plain text.
TEST_P(SqlJobStoreTest, ValuesAreNoSql) {
  const std::string id = "'; DROP TABLE jobs; -- $1 ?1 \\ \"";
  ASSERT_THAT(store_->Submit({.id = id, .request = id, .share_key = id}),
              IsOk());
  const JobLease lease = Lease(id);
  EXPECT_THAT(store_->AppendEvent(lease, id), IsOk());
  EXPECT_THAT(store_->Finish(lease, {.state = JobState::kFailed,
                                     .error = absl::InternalError(id)}),
              IsOk());

  const Job job = Get(id);
  EXPECT_EQ(job.request, id);
  EXPECT_EQ(job.owner, id);
  EXPECT_EQ(job.error.message(), id);
}

// Looks like a job from before there were share keys.
TEST_P(SqlJobStoreTest, JobsWithoutAKeyGetThatOfTheirTenant) {
  for (const char* id : {"team-a.1/x_1.y-Z", "x"}) {
    ASSERT_THAT(store_->Submit({.id = id, .request = id}), IsOk());
  }
  store_.reset();
  ASSERT_THAT(Open()->RunScript(testing::kWithoutSettings), IsOk());
  ASSERT_THAT(Open()->RunScript("DROP INDEX jobs_of_key; "
                                "DROP INDEX jobs_ended; "
                                "ALTER TABLE jobs DROP COLUMN losses; "
                                "ALTER TABLE jobs DROP COLUMN submit_seal; "
                                "ALTER TABLE jobs DROP COLUMN outcome_seal; "
                                "ALTER TABLE jobs DROP COLUMN row_seal; "
                                "ALTER TABLE jobs RENAME COLUMN num_attempts "
                                "TO attempts; "
                                "ALTER TABLE jobs RENAME COLUMN cancel_wanted "
                                "TO cancel_requested; "
                                "UPDATE tangram_schema SET version = 2;"),
              IsOk());
  Reopen();

  EXPECT_EQ(Get("team-a.1/x_1.y-Z").share_key, "team-a.1");
  EXPECT_EQ(Get("x").share_key, "");
}

TEST_P(SqlJobStoreTest, TheClockMayBeTheDatabases) {
  store_.reset();
  ASSERT_OK_AND_ASSIGN(store_, CreateSqlJobStore(Open()));
  Submit("a");
  const double submitted_s = Get("a").submitted_s;
  EXPECT_EQ(Claim("me", /*lease_s=*/-1), "a");
  EXPECT_EQ(Claim("other", /*lease_s=*/1000), "a");
  EXPECT_EQ(Claim("me"), "");

  EXPECT_GT(submitted_s, 1.7e9);  // After 2023.
  EXPECT_GE(Get("a").started_s, submitted_s);
}

// A database whose disk may be full.
class FullDatabase : public testing::BorrowedDatabase {
 public:
  FullDatabase(SqlDatabase& database, const bool& is_full)
      : BorrowedDatabase(database), is_full_(is_full) {}
  absl::Status Run(const std::string& sql, absl::Span<const SqlValue> values,
                   absl::FunctionRef<void(const SqlRow&)> on_row) override {
    if (is_full_ && sql.starts_with("UPDATE")) {
      return absl::ResourceExhaustedError("full");
    }
    return BorrowedDatabase::Run(sql, values, on_row);
  }

 private:
  const bool& is_full_;
};

TEST_P(SqlJobStoreTest, OpensOnAFullDisk) {
  if (GetParam() == "postgresql") GTEST_SKIP() << "others may hold the leases";
  Submit("a");
  ASSERT_EQ(Claim("lost", /*lease_s=*/10), "a");
  store_.reset();
  const std::unique_ptr<SqlDatabase> database = Open();
  bool is_full = true;
  now_s_ -= 500;  // The clock was set back, so the lease would hold for long.
  ASSERT_OK_AND_ASSIGN(store_, CreateSqlJobStore(std::make_unique<FullDatabase>(
                                                     *database, is_full),
                                                 [this] { return now_s_; }));
  EXPECT_EQ(Get("a").state, JobState::kRunning);
  EXPECT_THAT(
      store_->Claim("me", 10, 0).status(),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("full")));

  is_full = false;
  EXPECT_EQ(Claim("me"), "a");
  store_.reset();
}

TEST_P(SqlJobStoreTest, TheMostUrgentRunsFirstThenTheOldest) {
  Submit("old");
  Submit("new");
  Submit("urgent", /*priority=*/5);

  EXPECT_EQ(Claim("me"), "urgent");
  EXPECT_EQ(Claim("me"), "old");
  EXPECT_EQ(Claim("me"), "new");
  EXPECT_EQ(Claim("me"), "");
}

TEST_P(SqlJobStoreTest, JobsOfOneKeyTakeTurnsWithThoseOfAnother) {
  for (const char* id : {"a1", "a2", "a3", "b1"}) {
    ASSERT_THAT(
        store_->Submit({.id = id, .request = id, .share_key = {id, id + 1}}),
        IsOk());
  }
  EXPECT_EQ(Claim("me"), "a1");
  EXPECT_EQ(Claim("me"), "b1");
  EXPECT_EQ(Claim("me"), "a2");
  EXPECT_EQ(Get("b1").share_key, "b");
}

TEST_P(SqlJobStoreTest, PriorityCountsAmongJobsOfOneKeyAlone) {
  for (const char* id : {"a1", "a2", "a3", "b1"}) {
    ASSERT_THAT(store_->Submit({.id = id,
                                .request = id,
                                .priority = id[0] == 'a' ? id[1] : 0,
                                .share_key = {id, id + 1}}),
                IsOk());
  }
  EXPECT_EQ(Claim("me"), "a3");
  EXPECT_EQ(Claim("me"), "b1");
  EXPECT_EQ(Claim("me"), "a2");
}

// Each owner has a separate connection, or all share the only one.
TEST_P(SqlJobStoreTest, EachJobIsClaimedOnce) {
  constexpr int kJobs = 60;
  for (int i = 0; i < kJobs; ++i) Submit({.id = "job" + std::to_string(i)});
  std::atomic<int> claimed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const auto own = is_shared() ? NewStore() : nullptr;
      JobStore& store = own != nullptr ? *own : *store_;
      const std::string owner = "owner" + std::to_string(t);
      while (true) {
        const auto job = store.Claim(owner, 10, 0);
        ASSERT_THAT(job, IsOk());
        if (!job->has_value()) return;
        ++claimed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(claimed, kJobs);
}

TEST_P(SqlJobStoreTest, AnOwnerThatIsNotAbleTakesOnlyJobsThatOthersLeave) {
  const auto claim_left = [this] {
    const auto job = store_->Claim("unable", 10, /*left_s=*/3);
    EXPECT_THAT(job, IsOk());
    return job.ok() && job->has_value() ? (*job)->id : "";
  };
  Submit("a");
  now_s_ = 1002.9;
  EXPECT_EQ(claim_left(), is_shared() ? "" : "a");
  now_s_ = 1003;
  EXPECT_EQ(claim_left(), is_shared() ? "a" : "");
  if (!is_shared()) return;
  // Until 1013, an owner runs a job and so may lack room for more.
  Submit("b");
  now_s_ = 1012;
  EXPECT_EQ(claim_left(), "");
  now_s_ = 1013.1;
  EXPECT_EQ(claim_left(), "b");
  // A job whose lease has just ended or was given back has not waited.
  now_s_ = 1023.2;
  EXPECT_EQ(claim_left(), "a");
  now_s_ = 1050;
  const JobLease lease = Lease("able");
  EXPECT_EQ(lease.job_id, "a");
  ASSERT_THAT(store_->Release(lease), IsOk());
  EXPECT_EQ(claim_left(), "b");
}

TEST_P(SqlJobStoreTest, CountsWhatWaits) {
  for (const char* id : {"a", "b", "c"}) Submit(id);
  EXPECT_THAT(store_->CountWaiting(), IsOkAndHolds(3));
  EXPECT_EQ(Claim("me", /*lease_s=*/10), "a");
  EXPECT_EQ(Claim("me", /*lease_s=*/20), "b");
  EXPECT_THAT(store_->CountWaiting(), IsOkAndHolds(1));
  now_s_ = 1011;
  EXPECT_THAT(store_->CountWaiting(), IsOkAndHolds(2));
}

TEST_P(SqlJobStoreTest, OnlyAsUrgentJobsOrThoseOfOthersAreRivals) {
  Submit({.id = "a/runs", .priority = 1});
  Lease("me");
  const Job running = Get("a/runs");
  Submit("a/idle");
  EXPECT_THAT(store_->HasRival(running, true), IsOkAndHolds(false));
  Submit("b/x");
  EXPECT_THAT(store_->HasRival(running, false), IsOkAndHolds(false));
  EXPECT_THAT(store_->HasRival(running, true), IsOkAndHolds(true));
}

TEST_P(SqlJobStoreTest, ARenewedLeaseHolds) {
  Submit("a");
  const JobLease lease = Lease("me", 10);
  now_s_ = 1009;
  ASSERT_OK_AND_ASSIGN(const auto held, store_->Renew({lease}, 10));
  EXPECT_THAT(held, ElementsAre(HasId("a")));
  now_s_ = 1018;

  EXPECT_EQ(Claim("other"), "");
}

TEST_P(SqlJobStoreTest, AJobWhoseLeaseHasEndedIsTakenOver) {
  Submit("a");
  const JobLease dead = Lease("dead", 10);
  EXPECT_THAT(store_->AppendEvent(dead, "first"), IsOk());
  now_s_ = 1009;
  EXPECT_EQ(Claim("me"), "");
  now_s_ = 1011;
  const JobLease mine = Lease("me");
  EXPECT_EQ(mine.job_id, "a");

  EXPECT_EQ(Get("a").attempts, 2);
  for (const absl::Status& late :
       {store_->AppendEvent(dead, "late"),
        store_->Finish(dead, {.state = JobState::kFailed}),
        store_->Release(dead)}) {
    EXPECT_THAT(late, StatusIs(absl::StatusCode::kFailedPrecondition,
                               HasSubstr("dead")));
  }
  EXPECT_EQ(Get("a").state, JobState::kRunning);
  // Progress continues where it stopped.
  EXPECT_THAT(store_->AppendEvent(mine, "second"), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto events, store_->EventsAfter("a", 0));
  EXPECT_THAT(events, ElementsAre(JobEvent{1, "first"}, JobEvent{2, "second"}));
}

// The same coordinator claims twice.
TEST_P(SqlJobStoreTest, AnOldLeaseIsNoneEvenIfTheOwnerIsTheSame) {
  Submit("a");
  const JobLease old = Lease("me", 10);
  now_s_ = 1011;
  const JobLease mine = Lease("me");

  EXPECT_THAT(store_->Finish(old, {.state = JobState::kFailed}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("me")));
  ASSERT_OK_AND_ASSIGN(const auto held, store_->Renew({old, mine}, 10));
  EXPECT_THAT(held, SizeIs(1));
  EXPECT_EQ(LeaseOf(held[0]), mine);
}

TEST_P(SqlJobStoreTest, TheLeaseOfAnErasedJobIsNoneOfANewOneOfItsId) {
  Submit("team/a");
  const JobLease old = Lease("me");
  ASSERT_THAT(store_->Erase("team", 10), IsOkAndHolds(1));
  Submit("team/a");
  const JobLease mine = Lease("me");
  ASSERT_EQ(mine.attempt, old.attempt);

  const auto is_lost =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is not held"));
  EXPECT_THAT(store_->Renew({old}, 10), IsOkAndHolds(SizeIs(0)));
  EXPECT_THAT(store_->AppendEvent(old, "half"), is_lost);
  EXPECT_THAT(store_->Release(old), is_lost);
  EXPECT_THAT(store_->Finish(old, {.state = JobState::kSucceeded}), is_lost);
  EXPECT_THAT(store_->Renew({mine}, 10), IsOkAndHolds(SizeIs(1)));
  EXPECT_THAT(store_->EventsAfter("team/a", 0), IsOkAndHolds(SizeIs(0)));
}

TEST_P(SqlJobStoreTest, OpeningAFileTakesOverItsJobs) {
  Submit("a");
  EXPECT_EQ(Claim("dead", 10), "a");
  Reopen();

  EXPECT_EQ(Claim("me"), is_shared() ? "" : "a");
}

TEST_P(SqlJobStoreTest, ReleasedJobsAreQueuedAgain) {
  Submit("a");
  const JobLease lease = Lease("me");
  ASSERT_THAT(store_->Release(lease), IsOk());

  EXPECT_EQ(Claim("other"), "a");
}

TEST_P(SqlJobStoreTest, AJobThatIsPutBackForAWhileComesLater) {
  Submit("a");
  Submit("b");
  const JobLease lease = Lease("me");
  EXPECT_THAT(store_->HasRival(Get("a"), false), IsOkAndHolds(true));
  ASSERT_THAT(store_->Release(lease, {.delay_s = 5}), IsOk());
  EXPECT_EQ(Claim("me"), "b");
  EXPECT_EQ(Claim("me"), "");
  EXPECT_THAT(store_->HasRival(Get("b"), true), IsOkAndHolds(false));
  EXPECT_THAT(store_->CountWaiting(), IsOkAndHolds(1));
  now_s_ = 1006;
  Submit("c");
  EXPECT_EQ(Claim("me"), "c");
  EXPECT_EQ(Claim("me"), "a");
}

TEST_P(SqlJobStoreTest, DelaysEnd) {
  Submit("a");
  ASSERT_THAT(store_->Release(Lease("me"), {.delay_s = 60}), IsOk());
  EXPECT_EQ(Claim("me"), "");
  ASSERT_THAT(store_->EndDelays(), IsOk());
  Submit("b");
  EXPECT_EQ(Claim("me"), "a");
}

// Their jobs are put back as soon as they begin, so none of them ever runs.
TEST_P(SqlJobStoreTest, KeysTakeTurnsAlthoughNoneHasARunningJob) {
  for (int i = 0; i < 3; ++i) {
    for (const char* key : {"a", "b", "c"}) {
      ASSERT_THAT(store_->Submit({.id = absl::StrCat(key, i),
                                  .request = "plan",
                                  .priority = key[0] == 'b' ? 5 : 0,
                                  .share_key = key}),
                  IsOk());
    }
  }
  std::string begun;
  for (int i = 0; i < 9; ++i) {
    const JobLease lease = Lease("me");
    absl::StrAppend(&begun, lease.job_id, " ");
    ASSERT_THAT(store_->Release(lease, {.delay_s = 60}), IsOk());
  }
  EXPECT_EQ(begun, "a0 b0 c0 a1 b1 c1 a2 b2 c2 ");
}

TEST_P(SqlJobStoreTest, AClockThatIsSetBackDelaysNoJob) {
  Submit("a");
  ASSERT_THAT(store_->Release(Lease("me"), {.delay_s = 60}), IsOk());
  now_s_ -= 100;
  EXPECT_EQ(Claim("me"), "a");
}

TEST_P(SqlJobStoreTest, AJobToCancelDoesNotWait) {
  Submit("a");
  const JobLease lease = Lease("me");
  ASSERT_THAT(store_->Cancel("a"), IsOk());
  ASSERT_THAT(store_->Release(lease, {.delay_s = 60}), IsOk());
  EXPECT_EQ(Claim("me"), "a");
}

// Neither putting a job back nor claiming it again counts.
TEST_P(SqlJobStoreTest, CountsCoordinatorsThatWereLostWithAJob) {
  Submit("a");
  ASSERT_THAT(store_->Release(Lease("careful")), IsOk());
  EXPECT_EQ(Claim("dead", 10), "a");
  EXPECT_EQ(Get("a").losses, 0);
  now_s_ = 1011;
  EXPECT_EQ(Claim("slow", 10), "a");
  EXPECT_EQ(Get("a").losses, 1);
  now_s_ = 1022;
  EXPECT_EQ(Claim("slow", 10), "a");
  EXPECT_EQ(Get("a").losses, 1);
  Reopen();
  now_s_ = 1033;
  EXPECT_EQ(Claim("me"), "a");

  EXPECT_EQ(Get("a").losses, 2);
  EXPECT_EQ(Get("a").attempts, 5);
}

TEST_P(SqlJobStoreTest, JobsThatMayHaveKilledRunOneAtATime) {
  Submit("killer");
  Submit("beside");
  for (const char* dead : {"one", "two", "three", "four"}) {
    EXPECT_EQ(Claim(dead, 10), "killer");
    EXPECT_EQ(Claim(dead, 10), "beside");
    now_s_ += 11;
  }
  Submit("new");

  EXPECT_EQ(Claim("me"), "killer");
  EXPECT_EQ(Get("killer").losses, 4);
  EXPECT_EQ(Claim("me"), "new");
  EXPECT_EQ(Claim("me"), "");
  EXPECT_EQ(Claim("other"), "beside");
}

// Two attempts that die at the same place differ by an event or two.
TEST_P(SqlJobStoreTest, OnlyProgressMakesGoodLostCoordinators) {
  Submit("a");
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

TEST_P(SqlJobStoreTest, ThePulseTellsWhetherThereIsNews) {
  Submit("a");
  EXPECT_THAT(store_->Pulse("a"), IsOkAndHolds(JobPulse{JobState::kQueued, 0}));
  const JobLease lease = Lease("me");
  EXPECT_THAT(store_->AppendEvent(lease, "half"), IsOk());
  EXPECT_THAT(store_->Pulse("a"),
              IsOkAndHolds(JobPulse{JobState::kRunning, 1}));
}

TEST_P(SqlJobStoreTest, EventsAreReadFromAnyPoint) {
  Submit("a");
  const JobLease lease = Lease("me");
  for (const char* progress : {"one", "two", "three"}) {
    ASSERT_THAT(store_->AppendEvent(lease, progress), IsOk());
  }

  ASSERT_OK_AND_ASSIGN(const auto events, store_->EventsAfter("a", 1));
  EXPECT_THAT(events, ElementsAre(JobEvent{2, "two"}, JobEvent{3, "three"}));
}

TEST_P(SqlJobStoreTest, OnlyTheNewestEventsAreKept) {
  Submit("a");
  const JobLease lease = Lease("me");
  for (int64_t i = 0; i < kMaxJobEvents + 250; ++i) {
    ASSERT_THAT(store_->AppendEvent(lease, "waits"), IsOk());
  }

  ASSERT_OK_AND_ASSIGN(const auto events, store_->EventsAfter("a", 0));
  EXPECT_EQ(events.front().number, 201);
  EXPECT_EQ(events.back().number, kMaxJobEvents + 250);
}

TEST_P(SqlJobStoreTest, AResultIsKeptWithAllElse) {
  Submit("a");
  const JobLease lease = Lease("me");
  now_s_ = 1005;
  EXPECT_THAT(store_->AppendEvent(lease, "half"), IsOk());
  const std::string result("\0plan\xff", 6);
  EXPECT_THAT(
      store_->Finish(lease, {.state = JobState::kSucceeded, .result = result}),
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

TEST_P(SqlJobStoreTest, AnErrorIsKept) {
  Submit("a");
  const JobLease lease = Lease("me");
  ASSERT_THAT(store_->Finish(
                  lease, {.state = JobState::kFailed,
                          .error = absl::InternalError("aceso: \xff\n wrong")}),
              IsOk());

  EXPECT_EQ(Get("a").error, absl::InternalError("aceso: \xff\n wrong"));
}

TEST_P(SqlJobStoreTest, FinishingAgainChangesNothing) {
  Submit("a");
  const JobLease lease = Lease("me");
  const Job outcome{.state = JobState::kSucceeded, .result = "plan"};
  EXPECT_THAT(store_->Finish(lease, outcome), IsOk());
  now_s_ = 2000;
  EXPECT_THAT(store_->Finish(lease, outcome), IsOk());

  EXPECT_EQ(Get("a").finished_s, 1000);
}

}  // namespace
}  // namespace tangram
