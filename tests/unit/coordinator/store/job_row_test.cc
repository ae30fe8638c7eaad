// These tests change stored jobs, as a person or a disk may.
#include "coordinator/store/job_row.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/store/sql_job_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::Not;
using testing::StatusIs;

class DamagedJobsTest : public testing::DatabaseTest {
 protected:
  std::unique_ptr<JobStore> NewStore() const {
    auto store = CreateSqlJobStore(Open(), [this] { return now_s_; });
    EXPECT_THAT(store, IsOk());
    return *std::move(store);
  }
  // Runs SQL while no store has the database open.
  void Change(const std::string& sql, absl::Span<const SqlValue> values = {}) {
    ASSERT_THAT(Open()->Run(sql, values), IsOk());
  }
  std::string Column(const std::string& name, const std::string& id) {
    std::string value;
    EXPECT_THAT(
        Open()->Run(absl::StrCat("SELECT ", name, " FROM jobs WHERE id = ?1"),
                    {id}, [&](const SqlRow& row) { value = row.String(0); }),
        IsOk());
    return value;
  }
  // Stores a job that is queued, one that has a plan and one that failed.
  void Fill() {
    const auto store = NewStore();
    Submit(*store, "done");
    Finish(*store, {.state = JobState::kSucceeded, .result = "a plan"});
    Submit(*store, "failed");
    Finish(*store,
           {.state = JobState::kFailed, .error = absl::InternalError("died")});
    Submit(*store, "queued");
  }
  static void Submit(JobStore& store, const std::string& id) {
    ASSERT_THAT(store.Submit({.id = id, .request = absl::StrCat("plan ", id)}),
                IsOk());
  }
  static void Finish(JobStore& store, const Job& outcome) {
    const auto job = store.Claim("me", 10, 0);
    ASSERT_THAT(job, IsOk());
    ASSERT_THAT(store.Finish(LeaseOf(**job), outcome), IsOk());
  }
  static Job Get(JobStore& store, const std::string& id) {
    const auto job = store.Get(id);
    EXPECT_THAT(job, IsOk());
    return job.ok() ? *job : Job{};
  }
  double now_s_ = 1000;
  static void ExpectDamaged(const Job& job, const std::string& column) {
    EXPECT_EQ(job.state, JobState::kFailed);
    EXPECT_EQ(job.result, "");
    EXPECT_THAT(job.error,
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(absl::StrCat("job \"", job.id, "\"")),
                               HasSubstr(column))));
  }
  // Rewrites the tables in format 4, which had no seals.
  void RemoveSeals() {
    ASSERT_THAT(Open()->RunScript(testing::kWithoutSettings), IsOk());
    ASSERT_THAT(Open()->RunScript("ALTER TABLE jobs DROP COLUMN submit_seal; "
                                  "ALTER TABLE jobs DROP COLUMN outcome_seal; "
                                  "ALTER TABLE jobs DROP COLUMN row_seal; "
                                  "UPDATE tangram_schema SET version = 4;"),
                IsOk());
    RenameColumnsBack();
  }
  // Gives columns the names that they had before format 7.
  void RenameColumnsBack() {
    ASSERT_THAT(Open()->RunScript(
                    "ALTER TABLE jobs RENAME COLUMN num_attempts TO attempts; "
                    "ALTER TABLE jobs RENAME COLUMN cancel_wanted TO "
                    "cancel_requested;"),
                IsOk());
  }
};

INSTANTIATE_TEST_SUITE_P(All, DamagedJobsTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(DamagedJobsTest, AFlippedBitIsNeverServed) {
  Fill();
  for (const auto& [id, column, named] :
       {std::tuple{"done", "result", "result"},
        std::tuple{"done", "request", "request"},
        std::tuple{"done", "submit_seal", "request"},
        std::tuple{"done", "outcome_seal", "result"},
        std::tuple{"failed", "error_message", "result"}}) {
    const std::string sound = Column(column, id);
    for (const size_t at : {size_t{0}, sound.size() / 2, sound.size() - 1}) {
      std::string flipped = sound;
      flipped[at] = static_cast<char>(flipped[at] ^ 4);
      const std::string update =
          absl::StrCat("UPDATE jobs SET ", column, " = ?1 WHERE id = ?2");
      Change(update, {Blob{flipped}, absl::string_view(id)});
      {
        const auto store = NewStore();
        ExpectDamaged(Get(*store, id), named);
        ASSERT_OK_AND_ASSIGN(const Job again,
                             store->Submit({.id = id, .request = "plan done"}));
        EXPECT_THAT(again.error,
                    StatusIs(absl::StatusCode::kDataLoss, HasSubstr(id)));
      }
      Change(update, {Blob{sound}, absl::string_view(id)});
    }
  }
  const auto store = NewStore();
  EXPECT_EQ(Get(*store, "done").result, "a plan");
  EXPECT_EQ(Get(*store, "failed").error, absl::InternalError("died"));
}

TEST_P(DamagedJobsTest, TheRowOfAnotherJobIsDamaged) {
  Fill();
  Change("DELETE FROM jobs WHERE id = 'failed'");
  Change("UPDATE jobs SET id = 'failed' WHERE id = 'done'");
  ExpectDamaged(Get(*NewStore(), "failed"), "request");
}

TEST_P(DamagedJobsTest, NumbersOutOfRangeAreDamage) {
  for (const auto& [column, values] :
       std::map<std::string, std::vector<int64_t>>{
           {"state", {-1, 5, 70, INT64_MAX, 2, 4}},
           {"num_attempts", {-1, int64_t{1} << 40, INT64_MAX}},
           {"losses", {-1, INT64_MAX}},
           {"cancel_wanted", {2, -1}},
           {"priority", {int64_t{1} << 40}},
           {"error_code", {-1, 17}}}) {
    for (const int64_t value : values) {
      NewStore();  // The tables exist from here on.
      Change("DELETE FROM jobs");
      Fill();
      Change(
          absl::StrCat("UPDATE jobs SET ", column, " = ?1 WHERE id = 'queued'"),
          {value});
      const auto store = NewStore();
      ExpectDamaged(Get(*store, "queued"), column);
      ASSERT_OK_AND_ASSIGN(const auto listed, store->List({.limit = 1}));
      ExpectDamaged(listed.at(0), column);
    }
  }
}

TEST_P(DamagedJobsTest, AnEndedJobNeverChanges) {
  for (const char* damage :
       {"cancel_wanted = 1", "num_attempts = 2", "losses = 1", "owner = 'you'",
        "submitted_s = 999", "started_s = 1", "finished_s = 1001",
        "state_seal = 'x'", "state_seal = ''"}) {
    NewStore();  // The tables exist from here on.
    Change("DELETE FROM jobs");
    Fill();
    Change(absl::StrCat("UPDATE jobs SET ", damage, " WHERE id = 'done'"));
    const auto store = NewStore();
    ExpectDamaged(Get(*store, "done"), "checksum");
    ASSERT_OK_AND_ASSIGN(const auto listed, store->List({.limit = 3}));
    ExpectDamaged(listed.at(2), "finished_s");
    EXPECT_EQ(Get(*store, "failed").error, absl::InternalError("died"));
  }
}

// The time of its end may be wrong, so it is kept as if it had ended now.
TEST_P(DamagedJobsTest, AJobIsNotForgottenBecauseItsEndChanged) {
  Fill();
  Change("UPDATE jobs SET finished_s = 1 WHERE id = 'done'");
  {
    const auto store = NewStore();
    EXPECT_THAT(store->Forget(/*age_s=*/500, /*limit=*/10), IsOkAndHolds(0));
    ExpectDamaged(Get(*store, "done"), "checksum");
  }
  now_s_ = 1501;
  const auto store = NewStore();
  int num_deleted = 0;
  for (int call = 0; call < 60; ++call) {  // Its clock goes 10 s a call.
    ASSERT_OK_AND_ASSIGN(const int deleted, store->Forget(500, 10));
    num_deleted += deleted;
  }
  EXPECT_EQ(num_deleted, 2);
}

TEST_P(DamagedJobsTest, ACountOutOfRangeIsReportedAsItIs) {
  Fill();
  Change("UPDATE jobs SET num_attempts = 1073741824 WHERE id = 'queued'");
  const auto store = NewStore();
  EXPECT_THAT(store->Claim("me", 10, 0), IsOkAndHolds(std::nullopt));
  ExpectDamaged(Get(*store, "queued"),
                "num_attempts: 1073741824; expected 0 to 1073741823");
}

TEST_P(DamagedJobsTest, TablesOfAnotherFormAreNamed) {
  Fill();
  Change("DROP TABLE events");
  EXPECT_THAT(CreateSqlJobStore(Open(), nullptr).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("the tables are not those of jobs: "),
                             HasSubstr("events"), Not(HasSubstr("SELECT")))));
}

// SQLite has no number after the largest, so nobody could submit a job.
TEST_P(DamagedJobsTest, ANumberThatLeavesNoRoomForOthersIsDamage) {
  if (is_shared()) GTEST_SKIP() << "not applicable: sequences of their own";
  for (const char* damage :
       {"UPDATE jobs SET sequence = 9223372036854775807 WHERE id = 'done'",
        "UPDATE sqlite_sequence SET seq = 9223372036854775807"}) {
    Fill();
    Change(damage);
    EXPECT_THAT(CreateSqlJobStore(Open(), nullptr).status(),
                StatusIs(absl::StatusCode::kDataLoss,
                         HasSubstr("jobs.sequence: 9223372036854775807; "
                                   "expected at most 4611686018427387904")));
    Change("DELETE FROM jobs");
    Change("DELETE FROM sqlite_sequence");
  }
}

// The queue goes on, and whoever waits for the job learns that it failed.
TEST_P(DamagedJobsTest, ADamagedJobThatWaitsFails) {
  for (const char* damage :
       {"request = 'plan other'", "num_attempts = 9223372036854775807",
        "losses = -7", "cancel_wanted = 9", "finished_s = 5"}) {
    Fill();
    Change(absl::StrCat("UPDATE jobs SET ", damage, " WHERE id = 'queued'"));
    const auto store = NewStore();
    Submit(*store, "next");
    ASSERT_OK_AND_ASSIGN(const auto job, store->Claim("me", 10, 0));
    ASSERT_TRUE(job.has_value()) << damage;
    EXPECT_EQ(job->id, "next");
    EXPECT_THAT(store->Pulse("queued"),
                IsOkAndHolds(JobPulse{.state = JobState::kFailed}));
    ExpectDamaged(Get(*store, "queued"), "");
    EXPECT_THAT(store->CountWaiting(), IsOkAndHolds(0));
    EXPECT_THAT(store->Forget(-1, 10), IsOkAndHolds(3));
    EXPECT_THAT(store->Release(LeaseOf(*job)), IsOk());
    EXPECT_THAT(store->Cancel("next"), IsOk());
    EXPECT_THAT(store->Forget(-1, 10), IsOkAndHolds(1));
  }
}

// A job that nobody ended must not vanish because its state changed.
TEST_P(DamagedJobsTest, AJobWhoseStateChangedIsNotForgotten) {
  Fill();
  Change("UPDATE jobs SET state = 2 WHERE id = 'queued'");
  const auto store = NewStore();
  EXPECT_THAT(store->Forget(/*age_s=*/-1, /*limit=*/2), IsOkAndHolds(2));
  ExpectDamaged(Get(*store, "queued"), "state");
  EXPECT_THAT(store->Pulse("queued"),
              IsOkAndHolds(JobPulse{.state = JobState::kFailed}));
}

TEST_P(DamagedJobsTest, ACancelledJobIsSealed) {
  {
    const auto store = NewStore();
    Submit(*store, "a");
    ASSERT_OK_AND_ASSIGN(const Job job, store->Cancel("a"));
    EXPECT_EQ(job.state, JobState::kCancelled);
    EXPECT_THAT(job.error, IsOk());
  }
  Change("UPDATE jobs SET state = 2 WHERE id = 'a'");
  ExpectDamaged(Get(*NewStore(), "a"), "result");
}

TEST_P(DamagedJobsTest, JobsOfTheFormatWithoutSealsAreKeptAndSealed) {
  Fill();
  const std::string seal = Column("outcome_seal", "done");
  RemoveSeals();
  {
    const auto store = NewStore();
    EXPECT_EQ(Get(*store, "done").result, "a plan");
    EXPECT_EQ(Get(*store, "failed").error, absl::InternalError("died"));
  }
  EXPECT_EQ(Column("outcome_seal", "done"), seal);
  EXPECT_EQ(Column("outcome_seal", "queued"), "");
  Change("UPDATE jobs SET result = 'b plan' WHERE id = 'done'");
  const auto store = NewStore();
  ExpectDamaged(Get(*store, "done"), "result");
  EXPECT_EQ(Get(*store, "queued").request, "plan queued");
}

// Format 6 sealed no row of a job that had not ended.
TEST_P(DamagedJobsTest, JobsOfTheFormatThatSealedEndsAreKeptAndSealed) {
  Fill();
  RenameColumnsBack();
  ASSERT_THAT(Open()->RunScript(testing::kWithoutSettings), IsOk());
  ASSERT_THAT(Open()->RunScript(
                  "ALTER TABLE jobs RENAME COLUMN submit_seal TO request_seal; "
                  "ALTER TABLE jobs RENAME COLUMN row_seal TO end_seal; "
                  "UPDATE jobs SET end_seal = '' WHERE id = 'queued'; "
                  "UPDATE jobs SET attempts = 9 WHERE id = 'failed'; "
                  "UPDATE tangram_schema SET version = 6;"),
              IsOk());
  const auto store = NewStore();
  EXPECT_EQ(Get(*store, "done").result, "a plan");
  ExpectDamaged(Get(*store, "failed"), "num_attempts");
  ASSERT_OK_AND_ASSIGN(const auto job, store->Claim("me", 10, 0));
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->id, "queued");
}

// Otherwise nobody would learn that its columns changed.
TEST_P(DamagedJobsTest, ARowWithoutASealIsDamaged) {
  for (const auto& [id, seal] :
       {std::pair{"done", "submit_seal"}, std::pair{"done", "outcome_seal"},
        std::pair{"done", "state_seal"}, std::pair{"queued", "submit_seal"},
        std::pair{"queued", "state_seal"}}) {
    NewStore();  // The tables exist from here on.
    Change("DELETE FROM jobs");
    Fill();
    Change(absl::StrCat("UPDATE jobs SET ", seal, " = '' WHERE id = ?1"),
           {absl::string_view(id)});
    ExpectDamaged(Get(*NewStore(), id), "checksum");
  }
}

// An earlier version would change rows and leave their seals behind: at its
// end, when it puts jobs back, or if it cancels one.
TEST_P(DamagedJobsTest, StatementsOfEarlierVersionsFail) {
  Fill();
  for (const char* old :
       {"UPDATE jobs SET state = 0, lease_until_s = 0 WHERE id = 'queued' AND "
        "owner = 'me' AND attempts = 1 AND state = 1",
        "UPDATE jobs SET cancel_requested = 1 WHERE id = 'queued'",
        "SELECT request_seal FROM jobs", "SELECT end_seal FROM jobs",
        "SELECT row_seal FROM jobs"}) {
    EXPECT_THAT(Open()->Run(old),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("column")));
  }
}

}  // namespace
}  // namespace tangram
