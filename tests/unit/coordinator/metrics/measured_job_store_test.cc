#include "coordinator/metrics/measured_job_store.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/store/sql_job_store.h"
#include "coordinator/store/sqlite_database.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/http_get.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;

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

TEST_F(MeasuredJobStoreTest, ACallMadeAgainIsNotCountedAgain) {
  for (int i = 0; i < 2; ++i) Submit("a");
  EXPECT_THAT(Exposed(), Counts("submitted", 1));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(store_->Cancel("a"), IsOk());
  EXPECT_THAT(Exposed(), Counts("cancelled", 1));
}

TEST_F(MeasuredJobStoreTest, WhoeverRunsAJobCountsItsCancelling) {
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

}  // namespace
}  // namespace tangram
