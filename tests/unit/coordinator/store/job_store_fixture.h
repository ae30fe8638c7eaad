#ifndef TANGRAM_TESTS_UNIT_COORDINATOR_STORE_JOB_STORE_FIXTURE_H_
#define TANGRAM_TESTS_UNIT_COORDINATOR_STORE_JOB_STORE_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/sql_job_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/store/test_database.h"

namespace tangram::testing {

// Tests of an empty store of jobs, whose clock stands still at `now_s_`.
class JobStoreTest : public DatabaseTest {
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
    store_ = NewStore();
  }
  // Returns another store in the same database.
  std::unique_ptr<JobStore> NewStore() {
    auto store = CreateSqlJobStore(Open(), [this] { return now_s_; });
    EXPECT_THAT(store, IsOk());
    return *std::move(store);
  }

  // Submits a job with a request of its own. Its share key is its tenant unless
  // it has one.
  void Submit(Job job) {
    job.request = absl::StrCat("plan ", job.id);
    if (job.share_key.empty()) job.share_key = TenantOf(job.id);
    ASSERT_THAT(store_->Submit(job), IsOk());
  }
  void Submit(const char* id, int priority = 0) {
    Submit(Job{.id = id, .priority = priority});
  }
  // Claims the next job. Returns its lease; empty if there is none.
  JobLease Lease(const std::string& owner, double lease_s = 10) {
    const auto job = store_->Claim(owner, lease_s, 0);
    EXPECT_THAT(job, IsOk());
    return job.ok() && job->has_value() ? LeaseOf(**job) : JobLease{};
  }
  // Claims the next job. Returns its id, or "".
  std::string Claim(const std::string& owner, double lease_s = 10) {
    return Lease(owner, lease_s).job_id;
  }
  // Claims the next job and ends it.
  void End(JobState state = JobState::kSucceeded) {
    ASSERT_THAT(store_->Finish(Lease("me"), {.state = state}), IsOk());
  }
  Job Get(const std::string& id) {
    const auto job = store_->Get(id);
    EXPECT_THAT(job, IsOk());
    return job.ok() ? *job : Job{};
  }
  // Returns the ids of a list.
  std::vector<std::string> Ids(const JobFilter& filter) {
    std::vector<std::string> ids;
    const auto jobs = store_->List(filter);
    EXPECT_THAT(jobs, IsOk());
    if (jobs.ok()) {
      for (const Job& job : *jobs) ids.push_back(job.id);
    }
    return ids;
  }
  // Calls Forget until its clock has caught up with `now_s_`, which is at most
  // ten minutes ahead of it.
  void LetTheClockCatchUp() {
    for (int i = 0; i < 60; ++i) {
      EXPECT_THAT(store_->Forget(/*age_s=*/1e9, /*limit=*/1), IsOkAndHolds(0));
    }
  }

  double now_s_ = 1000;
  std::unique_ptr<JobStore> store_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COORDINATOR_STORE_JOB_STORE_FIXTURE_H_
