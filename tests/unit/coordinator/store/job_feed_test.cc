#include "coordinator/store/job_feed.h"

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "common/sync/mutex.h"
#include "coordinator/store/postgres_database.h"
#include "coordinator/store/sql_job_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/postgres_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram {
namespace {

using testing::IsOk;
using testing::PostgresServer;
using testing::TestServer;

// Remembers what it was told.
class Told {
 public:
  void Add(const std::string& what) {
    const MutexLock lock(mutex_);
    told_.insert(what);
    changed_.NotifyAll();
  }
  // Waits until it is told `what`, which it then forgets.
  bool Await(const std::string& what) {
    const MutexLock lock(mutex_);
    const bool came =
        changed_.WaitFor(mutex_, std::chrono::seconds(30),
                         [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                           return told_.count(what) > 0;
                         });
    if (came) told_.erase(told_.find(what));  // Others may have come too.
    return came;
  }
  bool Has(const std::string& what) {
    const MutexLock lock(mutex_);
    return told_.count(what) > 0;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  std::multiset<std::string> told_ ABSL_GUARDED_BY(mutex_);
};

class JobFeedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (PostgresServer::BinFolder().empty()) {
      GTEST_SKIP() << "PostgreSQL is not installed";
    }
    ASSERT_OK_AND_ASSIGN(auto database,
                         OpenPostgresDatabase(TestServer().connection()));
    // Other tests leave theirs.
    ASSERT_THAT(
        database->RunScript("DROP TABLE IF EXISTS jobs, events, job_clock, "
                            "tangram_schema"),
        IsOk());
    ASSERT_OK_AND_ASSIGN(store_, CreateSqlJobStore(std::move(database)));
    feed_ = JobFeed::Start(
        {.connection = TestServer().connection(),
         .on_state =
             [this](const std::string& id) { told_.Add("state " + id); },
         .on_progress =
             [this](const std::string& id) { told_.Add("progress " + id); },
         .on_connection =
             [this](const absl::Status& status) {
               told_.Add(status.ok() ? "listens" : "lost");
             }});
    ASSERT_TRUE(told_.Await("state "));
    ASSERT_TRUE(told_.Await("listens"));
  }

  Told told_;
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<JobFeed> feed_;
};

TEST_F(JobFeedTest, EveryStepOfAJobIsTold) {
  ASSERT_THAT(store_->Submit({.id = "a", .request = "r"}), IsOk());
  EXPECT_TRUE(told_.Await("state a"));
  ASSERT_OK_AND_ASSIGN(const auto job, store_->Claim("me", 60, 0));
  ASSERT_TRUE(job.has_value());
  EXPECT_TRUE(told_.Await("state a"));
  ASSERT_THAT(store_->AppendEvent(LeaseOf(*job), "half"), IsOk());
  EXPECT_TRUE(told_.Await("progress a"));
  ASSERT_THAT(store_->Cancel("a"), IsOk());
  EXPECT_TRUE(told_.Await("state a"));
  ASSERT_THAT(store_->Finish(LeaseOf(*job), {.state = JobState::kCancelled}),
              IsOk());
  EXPECT_TRUE(told_.Await("state a"));
}

TEST_F(JobFeedTest, RenewingALeaseIsNoNews) {
  ASSERT_THAT(store_->Submit({.id = "b", .request = "r"}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto job, store_->Claim("me", 60, 0));
  ASSERT_TRUE(told_.Await("state b"));
  ASSERT_TRUE(told_.Await("state b"));
  ASSERT_THAT(store_->Renew({LeaseOf(*job)}, 60), IsOk());
  // News come in order, so that of the renewal would be here first.
  ASSERT_THAT(store_->Submit({.id = "c", .request = "r"}), IsOk());
  ASSERT_TRUE(told_.Await("state c"));
  EXPECT_FALSE(told_.Has("state b"));
  EXPECT_FALSE(told_.Has("progress b"));
}

TEST_F(JobFeedTest, AfterALossItListensAgainAndSaysThatAnythingMayHaveChanged) {
  ASSERT_OK_AND_ASSIGN(const auto admin,
                       OpenPostgresDatabase(TestServer().connection()));
  ASSERT_THAT(admin->Run("SELECT pg_terminate_backend(pid) FROM "
                         "pg_stat_activity WHERE query LIKE '%LISTEN%' AND "
                         "pid <> pg_backend_pid()"),
              IsOk());
  EXPECT_TRUE(told_.Await("lost"));
  EXPECT_TRUE(told_.Await("listens"));
  EXPECT_TRUE(told_.Await("state "));
  EXPECT_TRUE(feed_->is_listening());
  ASSERT_THAT(store_->Submit({.id = "d", .request = "r"}), IsOk());
  EXPECT_TRUE(told_.Await("state d"));
}

}  // namespace
}  // namespace tangram
