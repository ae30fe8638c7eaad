#ifndef TANGRAM_COORDINATOR_JOBS_JOB_RUNNER_H_
#define TANGRAM_COORDINATOR_JOBS_JOB_RUNNER_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/sync/mutex.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// Does the work of one job: returns its result, reports progress (serialised
// tangram.v1.PlanProgress) and returns soon once `should_stop` says so.
using JobWork = std::function<absl::StatusOr<std::string>(
    const Job& job, const std::function<void(std::string)>& report,
    const std::function<bool()>& should_stop)>;

// Something worth a line in the log.
struct JobNote {
  bool is_warning = false;
  const char* what = "";
  std::string job_id;  // Empty: of none.
  std::string detail;
};

struct JobRunnerOptions {
  std::string owner;    // Of the jobs that it runs; no other runner's.
  int num_threads = 1;  // Jobs at once.
  // A job whose runner was not heard of for so long is another's.
  double lease_s = 6;
  // How often the store is asked for jobs that other coordinators got.
  double poll_interval_s = 1;
  // A job that so many coordinators were lost with is given up: it probably
  // kills them, and with each the jobs beside it. More than the few of an
  // unlucky one: that a coordinator was lost has mostly other reasons.
  int max_losses = 20;
  JobWork work;
  // Whether it can get anywhere with a job; if not, it leaves them to others
  // that share the store. From any thread.
  std::function<bool()> is_able = [] { return true; };
  // Something happened to the job of that id. From any thread.
  std::function<void(const std::string& id)> on_change;
  std::function<void(const JobNote& note)> on_note;
};

// Takes jobs from a store that it may share with other coordinators, and runs
// them. A job whose lease cannot be renewed in time is stopped: it is another's
// by then. While the store cannot be written, outcomes wait here. Thread-safe.
class JobRunner {
 public:
  // `store` must outlive the runner.
  JobRunner(JobStore& store, JobRunnerOptions options);
  ~JobRunner();  // As Stop(0).

  // There may be a new job, or one to be cancelled.
  void Wake();

  // Takes no more jobs, waits for those under way, and puts what is left when
  // the time is up back into the queue. True if nothing was left.
  bool Stop(double timeout_s);

  int num_running();

 private:
  // Guarded by mutex_, which the analysis cannot see through a pointer.
  struct Running {
    JobLease lease;
    double held_until_s = 0;
    bool must_stop = false;
    bool is_lost = false;  // To another owner.
  };

  void Work();
  std::optional<Job> Claim();
  // Makes `job` one of those that run. Null if it is one already.
  Running* Begin(const Job& job, double claimed_s);
  void AwaitClaims() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null if it does not run, or by another lease.
  Running* FindRunning(const JobLease& lease)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepLeases();
  bool RenewLeases();
  absl::StatusOr<std::string> Result(const Job& job, Running& running);
  void RunJob(const Job& job, Running& running);
  bool MustStop(Running& running);
  JobLease LeaseFor(const Running& running);
  absl::Status Settle(const Running& running, Job outcome);
  // What became of the job; the owner's word for it.
  static Job Outcome(absl::StatusOr<std::string> result, bool was_cancelled);
  void Note(bool is_warning, const char* what, const std::string& job_id,
            const absl::Status& status) const;

  JobStore& store_;
  const JobRunnerOptions options_;
  // Whether the store last refused; told once, not at every try.
  std::atomic<bool> cannot_claim_ = false;
  std::atomic<bool> cannot_renew_ = false;

  Mutex mutex_;
  ConditionVariable changed_;
  bool accepting_ ABSL_GUARDED_BY(mutex_) = true;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;  // Ends jobs under way.
  bool lease_thread_on_ ABSL_GUARDED_BY(mutex_) = true;
  int64_t wakes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_claims_ ABSL_GUARDED_BY(mutex_) = 0;
  // The numbers of the claims under way.
  std::set<int64_t> claiming_ ABSL_GUARDED_BY(mutex_);
  // When the renewal under way began.
  std::optional<double> renewing_since_s_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Running> running_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_;
  std::thread lease_thread_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_JOBS_JOB_RUNNER_H_
