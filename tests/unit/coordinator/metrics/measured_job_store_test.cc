#include "coordinator/metrics/measured_job_store.h"

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "coordinator/store/sql_job_store.h"
#include "coordinator/store/sqlite_database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/http_get.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

class MeasuredJobStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto database = OpenSqliteDatabase(":memory:");
    ASSERT_THAT(database, IsOk());
    auto jobs = CreateSqlJobStore(*std::move(database));
    ASSERT_THAT(jobs, IsOk());
    store_ = CreateMeasuredJobStore(*std::move(jobs), metrics_,
                                    [this] { return now_s_; });
    ASSERT_OK_AND_ASSIGN(port_, metrics_.Serve("127.0.0.1:0"));
  }
  void Submit(const std::string& id) {
    ASSERT_THAT(store_->Submit({.id = id, .request = id}), IsOk());
  }
  std::string Exposed() { return testing::HttpGet(port_, "/metrics"); }
  static auto Counts(const std::string& event, int count) {
    return HasSubstr(
        absl::StrCat("tangram_jobs_total{event=\"", event, "\"} ", count));
  }

  double now_s_ = 1000;
  int port_ = 0;
  Metrics metrics_;
  std::unique_ptr<JobStore> store_;
};

// Fails every statement once it is told to.
class FailingDatabase : public testing::BorrowedDatabase {
 public:
  FailingDatabase(SqlDatabase& database, const absl::Status& failure)
      : BorrowedDatabase(database), failure_(failure) {}
  absl::Status Run(const std::string& sql, absl::Span<const SqlValue> values,
                   absl::FunctionRef<void(const SqlRow&)> on_row) override {
    if (failure_.ok()) return BorrowedDatabase::Run(sql, values, on_row);
    return failure_;
  }

 private:
  const absl::Status& failure_;
};

TEST_F(MeasuredJobStoreTest, ErrorsQuoteNoStatementOrAddressOfTheDatabase) {
  const auto database = OpenSqliteDatabase(":memory:");
  ASSERT_THAT(database, IsOk());
  absl::Status failure;
  auto jobs =
      CreateSqlJobStore(std::make_unique<FailingDatabase>(**database, failure));
  ASSERT_THAT(jobs, IsOk());
  store_ = CreateMeasuredJobStore(*std::move(jobs), metrics_,
                                  [this] { return now_s_; });
  for (const absl::StatusCode code :
       {absl::StatusCode::kInvalidArgument, absl::StatusCode::kUnavailable,
        absl::StatusCode::kResourceExhausted, absl::StatusCode::kInternal}) {
    failure = absl::Status(code, "database: db.example (SELECT id FROM jobs)");
    const absl::Status status = store_->Pulse("a").status();
    EXPECT_THAT(status, StatusIs(code, Not(HasSubstr("SELECT"))));
    EXPECT_THAT(status.message(), Not(HasSubstr("db.example")));
  }
}

TEST_F(MeasuredJobStoreTest, ACallMadeAgainIsNotCountedAgain) {
  for (int i = 0; i < 2; ++i) Submit("a");
  EXPECT_THAT(Exposed(), Counts("submitted", 1));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(store_->Cancel("a"), IsOk());
  EXPECT_THAT(Exposed(), Counts("cancelled", 1));
}

TEST_F(MeasuredJobStoreTest, TheRunnerOfAJobCountsItsCancelling) {
  Submit("a");
  const auto job = store_->Claim("me", 10, 0);
  ASSERT_THAT(job, IsOk());
  EXPECT_THAT(store_->Cancel("a"), IsOk());
  EXPECT_THAT(Exposed(), Counts("cancelled", 0));
  now_s_ = 1007;
  EXPECT_THAT(store_->Finish(LeaseOf(**job), {.state = JobState::kCancelled}),
              IsOk());
  EXPECT_THAT(Exposed(), Counts("cancelled", 1));
  EXPECT_THAT(
      Exposed(),
      HasSubstr("tangram_job_duration_seconds_sum{state=\"cancelled\"} 7"));
}

// A database that can become damaged.
class DamageableDatabase : public SqlDatabase {
 public:
  DamageableDatabase(std::unique_ptr<SqlDatabase> database, const bool& damaged)
      : database_(std::move(database)), damaged_(damaged) {}

  const SqlDialect& dialect() const override { return database_->dialect(); }
  absl::Status Run(const std::string& sql, absl::Span<const SqlValue> values,
                   absl::FunctionRef<void(const SqlRow&)> on_row) override {
    if (damaged_) return absl::DataLossError("malformed");
    return database_->Run(sql, values, on_row);
  }
  absl::Status RunScript(const std::string& sql) override {
    return database_->RunScript(sql);
  }
  absl::Status Transact(absl::FunctionRef<absl::Status()> body) override {
    return database_->Transact(body);
  }
  int64_t num_changed() const override { return database_->num_changed(); }
  absl::Status RelaxDurability() override { return absl::OkStatus(); }

 private:
  const std::unique_ptr<SqlDatabase> database_;
  const bool& damaged_;
};

TEST(DamagedJobStoreTest, TheFirstSignOfDamageIsTold) {
  Metrics metrics;
  bool damaged = false;
  int told = 0;
  ASSERT_OK_AND_ASSIGN(auto database, OpenSqliteDatabase(":memory:"));
  ASSERT_OK_AND_ASSIGN(auto jobs,
                       CreateSqlJobStore(std::make_unique<DamageableDatabase>(
                           std::move(database), damaged)));
  const auto store = CreateMeasuredJobStore(
      std::move(jobs), metrics, [] { return 0; },
      [&](const absl::Status& status) {
        EXPECT_TRUE(absl::IsDataLoss(status));
        ++told;
      });
  EXPECT_THAT(store->CountWaiting(), IsOk());
  EXPECT_EQ(told, 0);
  damaged = true;
  EXPECT_FALSE(store->CountWaiting().ok());
  EXPECT_FALSE(store->Get("a").ok());
  EXPECT_EQ(told, 1);
}

TEST(DamagedJobStoreTest, ADamagedRowIsAFailedJobAndNoDamageOfTheDatabase) {
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto database, OpenSqliteDatabase(":memory:"));
  ASSERT_OK_AND_ASSIGN(
      auto jobs, CreateSqlJobStore(
                     std::make_unique<testing::BorrowedDatabase>(*database)));
  const auto store = CreateMeasuredJobStore(
      std::move(jobs), metrics, [] { return 0; },
      [](const absl::Status& status) { ADD_FAILURE() << status; });
  const Job job = {.id = "a", .request = "plan a"};
  ASSERT_THAT(store->Submit(job), IsOk());
  ASSERT_THAT(database->Run("UPDATE jobs SET request = 'plan b'"), IsOk());
  // The call to cancel it ends it and seals its row.
  for (const auto& told : {store->Submit(job), store->Get("a"),
                           store->Cancel("a"), store->Submit(job)}) {
    ASSERT_THAT(told, IsOk());
    EXPECT_EQ(told->state, JobState::kFailed);
    EXPECT_THAT(told->error,
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("\"a\"")));
  }
}

}  // namespace
}  // namespace tangram
