// Every column of every row of jobs gets other values, as by a person or a
// disk.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/store/sql_job_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using testing::IsOk;
using testing::IsOkAndHolds;

constexpr double kLeaseS = 10;

// Columns whose values choose nothing that a job says: the order of jobs, and
// what a restart or a day makes good.
bool IsHarmless(absl::string_view column) {
  return column == "sequence" || column == "lease_until_s" ||
         column == "last_event" || column == "not_before_s" ||
         column == "bytes" || column == "attempt_events" ||
         column == "furthest_events" || column == "event_due_s" ||
         column == "event_tries";
}

class JobTablesTest : public testing::DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    if (IsSkipped()) return;
    database_ = Open();
    // Waits for no disk.
    ASSERT_THAT(
        database_->RunScript(is_shared() ? "SET synchronous_commit = off"
                                         : "PRAGMA synchronous = OFF"),
        IsOk());
  }
  void TearDown() override {
    database_.reset();
    DatabaseTest::TearDown();
  }

  // Stores a job in each state, and two that run, one of which is cancelled.
  void Fill() {
    const auto store = NewStore();
    for (const char* id : {"done", "failed", "running", "stopping"}) {
      Submit(*store, id);
      const auto job = store->Claim("me", kLeaseS, 0);
      ASSERT_THAT(job, IsOk());
      ASSERT_THAT(store->AppendEvent(LeaseOf(**job), "half"), IsOk());
      const Job outcome =
          id == absl::string_view("done")
              ? Job{.state = JobState::kSucceeded, .result = "a plan"}
              : Job{.state = JobState::kFailed,
                    .error = absl::InternalError("died")};
      if (id[0] == 'd' || id[0] == 'f') {
        ASSERT_THAT(store->Finish(LeaseOf(**job), outcome), IsOk());
      }
    }
    for (const char* id : {"cancelled", "queued"}) Submit(*store, id);
    ASSERT_THAT(store->Submit({.id = "team/labelled",
                               .request = "plan",
                               .share_key = "team",
                               .labels = {{"run", "7"}},
                               .deadline_s = 1e8,
                               .keep_s = 60,
                               .webhook = "https://example.org/"}),
                IsOk());
    ASSERT_THAT(store->Cancel("team/stopping"), IsOk());
    ASSERT_THAT(store->Cancel("team/cancelled"), IsOk());
  }
  static void Submit(JobStore& store, const std::string& id) {
    ASSERT_THAT(store.Submit({.id = absl::StrCat("team/", id),
                              .request = absl::StrCat("plan ", id),
                              .share_key = "team"}),
                IsOk());
  }
  absl::StatusOr<std::unique_ptr<JobStore>> TryStore() const {
    return CreateSqlJobStore(
        std::make_unique<testing::BorrowedDatabase>(*database_),
        [this] { return now_s_; });
  }
  std::unique_ptr<JobStore> NewStore() const {
    auto store = TryStore();
    EXPECT_THAT(store, IsOk());
    return *std::move(store);
  }
  // Puts the saved rows back.
  void Restore() {
    ASSERT_THAT(database_->RunScript(
                    absl::StrCat("DELETE FROM jobs; INSERT INTO jobs ",
                                 is_shared() ? "OVERRIDING SYSTEM VALUE " : "",
                                 "SELECT * FROM saved")),
                IsOk());
  }

  std::map<std::string, Job> ReadAll(JobStore& store) const {
    std::map<std::string, Job> jobs;
    const auto listed = store.List({});
    EXPECT_THAT(listed, IsOk());
    for (const Job& job : *listed) {
      auto whole = store.Get(job.id);
      EXPECT_THAT(whole, IsOk()) << job.id;
      if (!whole.ok()) continue;
      whole->sequence = 0;  // Callers are not told it.
      jobs[job.id] = *std::move(whole);
    }
    return jobs;
  }

  // Returns the columns of the table of jobs.
  std::vector<std::string> Columns() const {
    std::vector<std::string> columns;
    EXPECT_THAT(
        database_->Run(
            is_shared() ? "SELECT attname::text FROM pg_attribute "
                          "WHERE attrelid = 'jobs'::regclass AND "
                          "attnum > 0 AND NOT attisdropped"
                        : "SELECT name FROM pragma_table_info('jobs')",
            {}, [&](const SqlRow& row) { columns.push_back(row.String(0)); }),
        IsOk());
    return columns;
  }

  std::unique_ptr<SqlDatabase> database_;
  double now_s_ = 1000;
};

INSTANTIATE_TEST_SUITE_P(All, JobTablesTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

// Other values of a column, as SQL. A database refuses those of other types,
// or takes them.
std::vector<std::string> Mutations(const std::string& column, bool is_shared) {
  std::vector<std::string> values = {absl::StrCat(column, " + 1"),
                                     absl::StrCat(column, " - 1"),
                                     "1",
                                     "3",
                                     "9223372036854775807",
                                     "''",
                                     "'team/other'",
                                     absl::StrCat(column, " || 'x'")};
  if (is_shared) {
    values.insert(values.end(), {"'\\x00ff'::bytea", "'NaN'"});
  } else {
    for (const char* value : {"'abc'", "1.5", "x'31'", "CAST(x'fffe' AS TEXT)",
                              "x'fffe'", "1e300", "-9223372036854775808"}) {
      values.emplace_back(value);
    }
    values.push_back(absl::StrCat("CAST(", column, " AS BLOB)"));
    values.push_back(absl::StrCat("CAST(", column, " AS TEXT)"));
  }
  return values;
}

// A job is told as it was, or as one that failed because of the damage.
void ExpectToldOrDamaged(const std::map<std::string, Job>& jobs,
                         const std::map<std::string, Job>& sound,
                         const std::string& what) {
  EXPECT_EQ(jobs.size(), sound.size()) << what;
  for (const auto& [id, job] : jobs) {
    EXPECT_TRUE(std::all_of(id.begin(), id.end(), absl::ascii_isprint)) << what;
    if (absl::IsDataLoss(job.error)) {
      EXPECT_EQ(job.state, JobState::kFailed) << what;
      EXPECT_EQ(job.result, "") << what;
      EXPECT_TRUE(absl::StrContains(job.error.message(), id)) << what;
      continue;
    }
    const auto it = sound.find(id);
    ASSERT_NE(it, sound.end()) << what << " " << id;
    EXPECT_EQ(job, it->second) << what << " " << id;
  }
}

// Runs all jobs that wait, and expects that none is left.
void ExpectAllEnd(JobStore& store, const std::map<std::string, Job>& sound,
                  const std::string& what) {
  for (size_t i = 0; i <= sound.size(); ++i) {
    const auto job = store.Claim("you", kLeaseS, 0);
    ASSERT_THAT(job, IsOk()) << what;
    if (!job->has_value()) break;
    const auto it = sound.find((*job)->id);
    ASSERT_NE(it, sound.end()) << what;
    EXPECT_FALSE(IsFinished(it->second.state)) << what;
    EXPECT_EQ((*job)->request, it->second.request) << what;
    EXPECT_EQ((*job)->cancel_requested, it->second.cancel_requested) << what;
    // Progress is for people, and its number may be damaged.
    store.AppendEvent(LeaseOf(**job), "again").IgnoreError();
    ASSERT_THAT(store.Finish(LeaseOf(**job), {.state = JobState::kSucceeded}),
                IsOk())
        << what;
  }
  EXPECT_THAT(store.CountUnfinished(""), IsOkAndHolds(0)) << what;
  EXPECT_THAT(store.CountWaiting(), IsOkAndHolds(0)) << what;
  ASSERT_OK_AND_ASSIGN(const auto listed, store.List({}));
  for (const Job& job : listed) {
    ASSERT_OK_AND_ASSIGN(const JobPulse pulse, store.Pulse(job.id));
    EXPECT_TRUE(IsFinished(pulse.state)) << what << " " << job.id;
  }
}

TEST_P(JobTablesTest, EachJobIsToldAsItWasOrAsDamagedAndEnds) {
  Fill();
  const std::vector<std::string> columns = Columns();
  ASSERT_GT(columns.size(), 20u);
  const std::map<std::string, Job> sound = ReadAll(*NewStore());
  ASSERT_EQ(sound.size(), 7u);
  ASSERT_THAT(database_->RunScript("CREATE TABLE saved AS SELECT * FROM jobs"),
              IsOk());
  int num_changed = 0;
  for (const auto& [id, unused] : sound) {
    for (const std::string& column : columns) {
      // A server takes long, so its rows change together where they may be
      // alike.
      const bool is_key = column == "id" || column == "sequence";
      const bool all_at_once = is_shared() && !is_key;
      if (all_at_once && id != sound.begin()->first) continue;
      for (const std::string& value : Mutations(column, is_shared())) {
        const std::string what = absl::StrCat(id, ".", column, " = ", value);
        Restore();
        const absl::Status changed = database_->Run(
            absl::StrCat("UPDATE jobs SET ", column, " = ", value,
                         all_at_once ? "" : " WHERE id = '" + id + "'"));
        if (!changed.ok()) continue;  // The database refuses the value.
        ++num_changed;
        now_s_ = 1001;
        const auto store = TryStore();
        if (absl::IsDataLoss(store.status())) {
          EXPECT_EQ(column, "sequence") << what << " " << store.status();
          continue;
        }
        ASSERT_THAT(store, IsOk()) << what;
        const std::map<std::string, Job> told = ReadAll(**store);
        ExpectToldOrDamaged(told, sound, what);
        if (IsHarmless(column)) {
          EXPECT_EQ(told, sound) << what;
        }
        now_s_ += 2 * 86400;  // No lease holds so long.
        ExpectAllEnd(**store, sound, what);
      }
    }
  }
  EXPECT_GT(num_changed, is_shared() ? 50 : 1000);
}

}  // namespace
}  // namespace tangram
