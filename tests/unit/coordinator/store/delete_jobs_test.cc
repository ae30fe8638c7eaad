// Stored jobs that are deleted: by id, by tenant, or some time after their end.
#include "coordinator/store/delete_jobs.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/status_macros.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/sql_job_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/job_store_fixture.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using ::testing::Not;
using ::testing::SizeIs;
using testing::StatusIs;

using DeleteJobsTest = testing::JobStoreTest;
INSTANTIATE_TEST_SUITE_P(All, DeleteJobsTest,
                         ::testing::Values("sqlite", "postgresql"),
                         testing::DatabaseName);

TEST_P(DeleteJobsTest, OnlyAJobThatHasEndedIsDeleted) {
  Submit("a");
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
  Submit("a");
  EXPECT_THAT(store_->EventsAfter("a", 0), IsOkAndHolds(SizeIs(0)));
}

TEST_P(DeleteJobsTest, AllJobsOfATenantAreErased) {
  for (const char* id : {"a/x", "a/y", "a/z", "ab/x"}) Submit(id);
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

TEST_P(DeleteJobsTest, NothingOfAnErasedTenantIsLeftInTheFiles) {
  if (is_shared()) GTEST_SKIP() << "the files are the server's";
  Submit({.id = "secret/x", .labels = {{"who", "secret"}}});
  EXPECT_THAT(ReadFile(file() + "-wal"), HasSubstr("secret"));
  EXPECT_THAT(store_->Erase("secret", 100), IsOkAndHolds(1));
  for (const char* suffix : {"", "-wal"}) {
    EXPECT_THAT(ReadFile(file() + suffix), Not(HasSubstr("secret"))) << suffix;
  }
}

TEST_P(DeleteJobsTest, JobsAreForgottenSomeTimeAfterTheirEnd) {
  for (const char* id : {"a", "b", "c", "d", "e"}) Submit(id);
  for (const double end_s : {1000, 1001, 1002}) {  // a, b, c.
    const JobLease lease = Lease("me", 5e4);
    EXPECT_THAT(store_->AppendEvent(lease, "half"), IsOk());
    now_s_ = end_s;
    EXPECT_THAT(store_->Finish(lease, {.state = JobState::kSucceeded}), IsOk());
  }
  EXPECT_EQ(Claim("me", 5e4), "d");
  now_s_ = 1101.5;
  LetTheClockCatchUp();

  EXPECT_THAT(store_->Forget(/*age_s=*/100, /*limit=*/1), IsOkAndHolds(1));
  EXPECT_THAT(store_->Get("a").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("is unknown")));
  EXPECT_THAT(store_->Forget(100, 10), IsOkAndHolds(1));
  EXPECT_THAT(store_->Forget(100, 10), IsOkAndHolds(0));
  EXPECT_THAT(Ids({}), ElementsAre("e", "d", "c"));
  // Nothing of the old job is left.
  Submit("a");
  EXPECT_THAT(store_->EventsAfter("a", 0), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store_->EventsAfter("c", 0), IsOkAndHolds(SizeIs(1)));
}

// Changes which job is the oldest, as another coordinator may, once the events
// of some are deleted.
class MeddlingDatabase : public testing::BorrowedDatabase {
 public:
  using BorrowedDatabase::BorrowedDatabase;
  absl::Status Run(const std::string& sql, absl::Span<const SqlValue> values,
                   absl::FunctionRef<void(const SqlRow&)> on_row) override {
    TANGRAM_RETURN_IF_ERROR(BorrowedDatabase::Run(sql, values, on_row));
    if (!absl::StartsWith(sql, "DELETE FROM events")) return absl::OkStatus();
    return RunScript("UPDATE jobs SET finished_s = 9e9 - finished_s");
  }
};

TEST_P(DeleteJobsTest, EachForgottenJobGoesWithItsEvents) {
  store_.reset();
  const std::unique_ptr<SqlDatabase> database = Open();
  ASSERT_OK_AND_ASSIGN(
      store_, CreateSqlJobStore(std::make_unique<MeddlingDatabase>(*database),
                                [this] { return now_s_; }));
  for (const char* id : {"a", "b"}) {
    Submit(id);
    const JobLease lease = Lease("me", 5e4);
    EXPECT_THAT(store_->AppendEvent(lease, "half"), IsOk());
    EXPECT_THAT(store_->Finish(lease, {.state = JobState::kSucceeded}), IsOk());
    now_s_ += 1;
  }
  now_s_ = 1200;
  LetTheClockCatchUp();
  EXPECT_THAT(store_->Forget(/*age_s=*/100, /*limit=*/1), IsOkAndHolds(1));
  EXPECT_THAT(store_->EventsAfter("a", 0).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("is unknown")));
  EXPECT_THAT(store_->EventsAfter("b", 0), IsOkAndHolds(SizeIs(1)));
  store_.reset();
}

TEST_P(DeleteJobsTest, AJobIsKeptAsLongAsItSays) {
  Submit({.id = "short", .keep_s = 20});
  Submit({.id = "long", .keep_s = 500});
  Submit("usual");
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

TEST_P(DeleteJobsTest, AClockThatJumpsDeletesNothingForDays) {
  Submit("a");
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

TEST_P(DeleteJobsTest, AClockThatBeganInTheFutureDeletesNothing) {
  now_s_ += 10 * 365 * 86400.;
  LetTheClockCatchUp();  // There is no job yet.
  now_s_ = 1000;
  Submit("a");
  End();
  ASSERT_THAT(store_->Forget(30 * 86400., 10), IsOkAndHolds(0));
  EXPECT_EQ(Get("a").state, JobState::kSucceeded);
}

}  // namespace
}  // namespace tangram
