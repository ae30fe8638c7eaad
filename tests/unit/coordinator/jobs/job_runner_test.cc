#include "coordinator/jobs/job_runner.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/jobs/memory_job_store.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MemoryJobStore;
using ::testing::SizeIs;
using testing::StatusIs;

// Work of jobs that ends when a test says so, with the result it gives.
class Work {
 public:
  absl::StatusOr<std::string> Run(
      const Job&, const std::function<void(std::string)>& report,
      const std::function<bool()>& should_stop) {
    report("begun");
    std::unique_lock lock(mutex_);
    ++num_begun_;
    changed_.notify_all();
    while (!result_.has_value()) {
      lock.unlock();
      if (should_stop()) return absl::CancelledError("stopped");
      std::this_thread::yield();
      lock.lock();
    }
    return *result_;
  }

  void EndWith(absl::StatusOr<std::string> result) {
    const std::lock_guard lock(mutex_);
    result_ = std::move(result);
  }
  void AwaitBegun(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_begun_ >= count; });
  }
  int num_begun() {
    const std::lock_guard lock(mutex_);
    return num_begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<absl::StatusOr<std::string>> result_;
  int num_begun_ = 0;
};

class JobRunnerTest : public ::testing::Test {
 protected:
  // Short, because tests wait for renewals and for a lease to end.
  static constexpr double kLeaseS = 0.4;

  void Start(int num_threads = 1, double lease_s = kLeaseS) {
    runner_ = std::make_unique<JobRunner>(
        store_,
        JobRunnerOptions{
            .owner = "me",
            .num_threads = num_threads,
            .lease_s = lease_s,
            .poll_interval_s = 0.01,
            .slice_s = slice_s_,
            .max_run_s = max_run_s_,
            .max_wait_s = max_wait_s_,
            .unix_now_s = [this] { return unix_now_s_.load(); },
            .waiting_progress =
                [](const absl::Status& why) {
                  return absl::StrCat("waits: ", why.message());
                },
            .work =
                [this](const Job& job, const auto& report, const auto& stop) {
                  return work_.Run(job, report, stop);
                },
            .is_able = [this] { return is_able_.load(); },
            .on_change = [this](const std::string&) { ++num_changes_; },
            .on_note =
                [this](const JobNote& note) {
                  const std::lock_guard lock(mutex_);
                  notes_.push_back(note.what);
                  changed_.notify_all();
                }});
  }
  void Submit(const std::string& id) {
    ASSERT_THAT(store_.Submit({.id = id}), IsOk());
  }
  void AwaitNote(const std::string& what) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return std::count(notes_.begin(), notes_.end(), what) > 0;
    });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> notes_;
  std::atomic<int> num_changes_ = 0;
  std::atomic<bool> is_able_ = true;
  MemoryJobStore store_;
  Work work_;
  double slice_s_ = 0;
  double max_run_s_ = 0;
  double max_wait_s_ = 0;
  std::atomic<double> unix_now_s_ = 1000;
  std::unique_ptr<JobRunner> runner_;  // Last, because it uses the others.
};

TEST_F(JobRunnerTest, KeepsWhatTheWorkReturns) {
  work_.EndWith("plan");
  Start();
  Submit("a");
  runner_->Wake();

  EXPECT_EQ(store_.Await("a", JobState::kSucceeded).result, "plan");
  EXPECT_THAT(*store_.EventsAfter("a", 0), SizeIs(1));
  EXPECT_TRUE(runner_->Stop(1000));
  EXPECT_GE(num_changes_, 3);  // Begun, progress, ended.
}

TEST_F(JobRunnerTest, LeavesJobsToOthersWhileItIsNotAble) {
  is_able_ = false;
  Submit("a");
  Start();
  store_.AwaitSpared(3);
  EXPECT_EQ(work_.num_begun(), 0);

  is_able_ = true;
  work_.AwaitBegun(1);
}

TEST_F(JobRunnerTest, AnErrorEndsAJobForGood) {
  work_.EndWith(absl::InternalError("aceso: wrong answer"));
  Submit("a");
  Start();

  EXPECT_THAT(store_.Await("a", JobState::kFailed).error,
              StatusIs(absl::StatusCode::kInternal, HasSubstr("aceso")));
  EXPECT_EQ(store_.Get("a")->attempts, 1);
}

TEST_F(JobRunnerTest, AJobThatTooManyCoordinatorsWereLostWithIsGivenUp) {
  ASSERT_THAT(store_.Submit({.id = "a", .losses = 20}), IsOk());
  ASSERT_THAT(store_.Submit({.id = "b", .losses = 19}), IsOk());
  work_.EndWith("plan");
  Start();

  EXPECT_THAT(store_.Await("a", JobState::kFailed).error,
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("after 20 coordinators were lost")));
  store_.Await("b", JobState::kSucceeded);
  EXPECT_EQ(work_.num_begun(), 1);
}

TEST_F(JobRunnerTest, RunsAsManyAtOnceAsItMay) {
  for (const char* id : {"a", "b", "c"}) Submit(id);
  Start(/*num_threads=*/2);
  work_.AwaitBegun(2);
  EXPECT_EQ(runner_->num_running(), 2);
  EXPECT_EQ(store_.Get("c")->state, JobState::kQueued);

  work_.EndWith("plan");
  store_.Await("c", JobState::kSucceeded);
}

// As after EraseTenant: the run must not answer the new job.
TEST_F(JobRunnerTest, ARunIsNotTakenForThatOfANewJobOfItsId) {
  Submit("a");
  Start(/*num_threads=*/2, /*lease_s=*/1000);
  work_.AwaitBegun(1);
  store_.Replace("a", "another request");
  runner_->Wake();
  work_.AwaitBegun(2);
  AwaitNote("job lost");

  work_.EndWith("plan");
  EXPECT_EQ(store_.Await("a", JobState::kSucceeded).request, "another request");
}

TEST_F(JobRunnerTest, ACancelledJobIsStopped) {
  Submit("a");
  Start();
  work_.AwaitBegun(1);
  ASSERT_THAT(store_.Cancel("a"), IsOk());
  runner_->Wake();

  store_.Await("a", JobState::kCancelled);
}

// Without the cancel, the next renewal would be in 300 s.
TEST_F(JobRunnerTest, ACancelDuringARenewalIsNotMissed) {
  Submit("a");
  Start(/*num_threads=*/1, /*lease_s=*/1000);
  work_.AwaitBegun(1);
  store_.HoldRenewals();
  runner_->Wake();
  store_.AwaitHeldRenewal();
  ASSERT_THAT(store_.Cancel("a"), IsOk());
  runner_->Wake();
  store_.LetRenewalsGo();

  store_.Await("a", JobState::kCancelled);
}

TEST_F(JobRunnerTest, AJobThatWasCancelledUnderItsLastOwnerIsStoppedAtOnce) {
  Submit("a");
  ASSERT_THAT(store_.Cancel("a"), IsOk());
  Start();

  store_.Await("a", JobState::kCancelled);
}

TEST_F(JobRunnerTest, AJobThatAnotherHasIsStoppedAndLeftAlone) {
  Submit("a");
  Start();
  work_.AwaitBegun(1);
  store_.TakeAway("a", "other");
  AwaitNote("job lost");

  EXPECT_EQ(store_.Get("a")->state, JobState::kRunning);
  EXPECT_EQ(store_.Get("a")->owner, "other");
}

// By then another coordinator may have the job.
TEST_F(JobRunnerTest, AJobWhoseLeaseCannotBeRenewedIsStopped) {
  Submit("a");
  Start();
  work_.AwaitBegun(1);
  store_.FailWith(absl::StatusCode::kUnavailable);
  AwaitNote("job lost");
  store_.FailWith(absl::StatusCode::kOk);

  EXPECT_EQ(store_.Get("a")->state, JobState::kRunning);
}

TEST_F(JobRunnerTest, AJobIsStoppedAtTheEndOfItsLeaseThoughTheStoreHangs) {
  Submit("a");
  Start();
  work_.AwaitBegun(1);
  store_.HoldRenewals();
  AwaitNote("job lost");
  // Any coordinator that can takes the job over.
  work_.AwaitBegun(2);
  store_.LetRenewalsGo();
}

// No other coordinator can take the job meanwhile.
TEST_F(JobRunnerTest, AJobGoesOnWhileTheDatabaseIsFull) {
  Submit("a");
  Start();
  work_.AwaitBegun(1);
  store_.FailWith(absl::StatusCode::kResourceExhausted);
  // 12 attempts in the time of a lease.
  while (store_.num_failures() < 20) std::this_thread::yield();
  work_.EndWith("plan");
  store_.FailWith(absl::StatusCode::kOk);

  EXPECT_EQ(store_.Await("a", JobState::kSucceeded).result, "plan");
  EXPECT_EQ(work_.num_begun(), 1);
}

TEST_F(JobRunnerTest, AnOutcomeWaitsForTheStore) {
  Submit("a");
  Start();
  work_.AwaitBegun(1);
  store_.FailWith(absl::StatusCode::kResourceExhausted);
  work_.EndWith("plan");
  while (store_.num_failures() < 5) std::this_thread::yield();
  store_.FailWith(absl::StatusCode::kOk);

  EXPECT_EQ(store_.Await("a", JobState::kSucceeded).attempts, 1);
}

TEST_F(JobRunnerTest, AResultThatTheStoreRefusesIsAnError) {
  work_.EndWith(std::string(2000, 'x'));
  Submit("a");
  Start();

  EXPECT_THAT(store_.Await("a", JobState::kFailed).error,
              StatusIs(absl::StatusCode::kInternal, HasSubstr("too large")));
}

// Its lease has ended, but no other coordinator was there.
TEST_F(JobRunnerTest, AJobThatIsClaimedWhileItRunsGoesOnOnce) {
  Submit("a");
  Start(/*num_threads=*/2);
  work_.AwaitBegun(1);
  store_.Expire("a");
  EXPECT_GE(store_.Await("a", JobState::kRunning).attempts, 2);
  work_.EndWith("plan");

  EXPECT_EQ(store_.Await("a", JobState::kSucceeded).result, "plan");
  EXPECT_TRUE(runner_->Stop(1000));
}

// It is not begun again either if it ends before the claim has returned.
TEST_F(JobRunnerTest, AJobThatIsClaimedWhileItsOutcomeIsKeptIsNotRunAgain) {
  Submit("a");
  Start(/*num_threads=*/2);
  work_.AwaitBegun(1);
  store_.HoldClaims();
  store_.Expire("a");
  store_.AwaitHeldClaim();
  work_.EndWith("plan");
  store_.AwaitRefusals();
  store_.LetClaimsGo();

  EXPECT_EQ(store_.Await("a", JobState::kSucceeded).attempts, 2);
  EXPECT_EQ(work_.num_begun(), 1);
}

TEST_F(JobRunnerTest, StoppingWaitsForJobsUnderWay) {
  Submit("a");
  Start();
  work_.AwaitBegun(1);
  std::thread ending([this] { work_.EndWith("plan"); });

  EXPECT_TRUE(runner_->Stop(1000));
  ending.join();
  EXPECT_EQ(store_.Get("a")->state, JobState::kSucceeded);
}

TEST_F(JobRunnerTest, JobsThatRunWhenItStopsGoBackToTheQueue) {
  Submit("a");
  Submit("b");
  Start();
  work_.AwaitBegun(1);

  EXPECT_FALSE(runner_->Stop(0));
  for (const char* id : {"a", "b"}) {
    EXPECT_EQ(store_.Get(id)->state, JobState::kQueued) << id;
  }
  EXPECT_EQ(work_.num_begun(), 1);
}

TEST_F(JobRunnerTest, StopsWithoutAStore) {
  Submit("a");
  Start();
  work_.AwaitBegun(1);
  store_.FailWith(absl::StatusCode::kUnavailable);

  EXPECT_FALSE(runner_->Stop(0));
}

TEST_F(JobRunnerTest, ComplainsOnceWhileJobsCannotBeTaken) {
  store_.FailWith(absl::StatusCode::kUnavailable);
  Start();
  while (store_.num_failures() < 10) std::this_thread::yield();
  runner_.reset();

  EXPECT_THAT(notes_, ::testing::ElementsAre("jobs cannot be taken"));
}

// MemoryJobStore calls a job cancelled that was put back for a while.
TEST_F(JobRunnerTest, AJobMakesRoomForOthersWhenItsTimeIsUp) {
  slice_s_ = 1e-9;
  Start();
  Submit("a");
  work_.AwaitBegun(1);
  store_.SetRival();
  store_.Await("a", JobState::kCancelled);
  EXPECT_EQ(store_.put_back().delay_s, 1e-3);
  EXPECT_GT(store_.put_back().ran_s, 0);
}

// Otherwise two jobs could put each other back for ever.
TEST_F(JobRunnerTest, AJobRunsForAtLeastAsLongAsItDidBefore) {
  slice_s_ = 1e-9;
  Start();
  ASSERT_THAT(store_.Submit({.id = "a", .ran_s = 1e9}), IsOk());
  store_.SetRival();
  work_.AwaitBegun(1);
  for (int i = 0; i < 2; ++i) {
    store_.HoldRenewals();
    store_.AwaitHeldRenewal();
    store_.LetRenewalsGo();
  }
  work_.EndWith("plan");
  store_.Await("a", JobState::kSucceeded);
  EXPECT_EQ(work_.num_begun(), 1);
}

TEST_F(JobRunnerTest, AJobThatNobodyWaitsForGoesOn) {
  slice_s_ = 1e-9;
  Start();
  Submit("a");
  work_.AwaitBegun(1);
  store_.HoldRenewals();
  for (int i = 0; i < 2; ++i) {
    store_.AwaitHeldRenewal();
    store_.LetRenewalsGo();
    store_.HoldRenewals();
  }
  store_.LetRenewalsGo();
  work_.EndWith("plan");
  store_.Await("a", JobState::kSucceeded);
  EXPECT_EQ(work_.num_begun(), 1);
}

TEST_F(JobRunnerTest, AJobThatRunsForTooLongFails) {
  max_run_s_ = 1e-9;
  Start();
  Submit("a");
  EXPECT_THAT(
      store_.Await("a", JobState::kFailed).error,
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("--max_job_s")));
}

TEST_F(JobRunnerTest, ARunningJobFailsAtItsDeadline) {
  Start();
  Submit("a");
  work_.AwaitBegun(1);
  store_.PassDeadline("a");
  EXPECT_THAT(store_.Await("a", JobState::kFailed).error,
              StatusIs(absl::StatusCode::kDeadlineExceeded, "late"));
}

TEST_F(JobRunnerTest, ARunningJobGoesOnWithItsNewPriority) {
  Start();
  Submit("a");
  work_.AwaitBegun(1);
  store_.Change("a", 5);
  store_.Await("a", JobState::kCancelled);
}

TEST_F(JobRunnerTest, AJobWaitsForWorkers) {
  max_wait_s_ = 1e9;
  unix_now_s_ = 1;
  Start();
  work_.EndWith(absl::UnavailableError("no worker offers aceso"));
  Submit("a");
  store_.Await("a", JobState::kCancelled);
  EXPECT_EQ(store_.put_back().delay_s, 5);
  EXPECT_THAT(*store_.EventsAfter("a", 0),
              ::testing::Contains(::testing::Field(
                  &JobEvent::progress, "waits: no worker offers aceso")));
}

TEST_F(JobRunnerTest, AJobThatHasWaitedForLongAsksForWorkersLessOften) {
  max_wait_s_ = 1e9;
  work_.EndWith(absl::UnavailableError("no worker offers aceso"));
  struct Case {
    double waited_s;
    int attempts;
    double delay_s;
  };
  for (const auto& [waited_s, attempts, delay_s] :
       {Case{80, 50, 10}, Case{1e6, 50, 60}, Case{1e6, 0, 5},
        Case{1e6, 2, 15}}) {
    unix_now_s_ = waited_s;
    Start();
    const std::string id = absl::StrCat("waited ", waited_s, " ", attempts);
    ASSERT_THAT(store_.Submit({.id = id, .attempts = attempts}), IsOk());
    store_.Await(id, JobState::kCancelled);
    EXPECT_EQ(store_.put_back().delay_s, delay_s);
  }
}

TEST_F(JobRunnerTest, ManyJobsAskForWorkersOneAfterAnother) {
  max_wait_s_ = 1e9;
  unix_now_s_ = 1;
  Start();
  work_.EndWith(absl::UnavailableError("no worker offers aceso"));
  constexpr int kNumJobs = 40;
  for (int i = 0; i < kNumJobs; ++i) {
    const std::string id = absl::StrCat(i);
    Submit(id);
    store_.Await(id, JobState::kCancelled);
  }
  // 40 · 0.05 s after 5 s, less what the tries took.
  EXPECT_GT(store_.put_back().delay_s, 5);
  EXPECT_LT(store_.put_back().delay_s, 7);
}

// It was submitted at 0, 1,000 s ago.
TEST_F(JobRunnerTest, AJobWaitsForWorkersOnlyForItsTime) {
  max_wait_s_ = 999;
  Start();
  work_.EndWith(absl::UnavailableError("no worker offers aceso"));
  Submit("a");
  EXPECT_THAT(
      store_.Await("a", JobState::kFailed).error,
      StatusIs(absl::StatusCode::kUnavailable, "no worker offers aceso"));
}

}  // namespace
}  // namespace tangram
