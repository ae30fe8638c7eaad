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
#include "coordinator/jobs/retry_times.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// Runs one job and returns its result. Reports progress (serialised
// tangram.v1.PlanProgress). Returns soon after `should_stop` returns true.
using JobWork = std::function<absl::StatusOr<std::string>(
    const Job& job, const std::function<void(std::string)>& report,
    const std::function<bool()>& should_stop)>;

// Returns whether a job may still wait for workers, which it may until
// `max_wait_s` seconds after its submission.
inline bool MayWaitForWorkers(const Job& job, double unix_now_s,
                              double max_wait_s) {
  return max_wait_s > 0 && unix_now_s - job.submitted_s < max_wait_s;
}

// An event for the log.
struct JobNote {
  bool is_warning = false;
  const char* what = "";
  std::string job_id;  // Empty: concerns no job.
  std::string detail;
};

struct JobRunnerOptions {
  // Owner of the jobs that it runs. No other runner may use it.
  std::string owner;
  int num_threads = 1;  // Jobs that run at once.
  // Those of one tenant; 0: no limit. A more urgent one begins beyond it.
  int max_of_tenant = 0;
  // Once so many run, only jobs of tenants of which none runs here begin.
  int num_shared_places = 1 << 20;
  // Duration of a lease. After it, another runner may take the job of a runner
  // that fell silent.
  double lease_s = 6;
  // How often to ask the store for jobs that other coordinators received.
  double poll_interval_s = 1;
  // A job is given up once this many coordinators were lost with it, because it
  // probably kills them, and the jobs beside it too. Set high, because most
  // coordinator losses are not the job's fault.
  int max_losses = 20;
  // A job that ran for so long, and for as long as all its attempts before, is
  // put back if another waits that could take its place; 0: never. Answers of
  // workers are kept elsewhere.
  double slice_s = 0;
  // A job that ran for so long in all fails; 0: no limit.
  double max_run_s = 0;
  // A job whose work returns kUnavailable, because no worker can do it, is put
  // back until it has waited for `max_wait_s` since it was submitted; 0: it
  // fails at once. Each time it waits for an eighth of the time since its
  // submission, but for `retry_s` at least, and at most `max_retry_s` and
  // `retry_s` times its attempts. Many jobs of a tenant wait up to 50 s longer,
  // so that their tries are 50 ms apart.
  double max_wait_s = 0;
  double retry_s = 5;
  double max_retry_s = 60;
  std::function<double()> unix_now_s;  // Since 1970; only for max_wait_s.
  // Returns the progress that tells why a job waits. Null: nothing does.
  std::function<std::string(const absl::Status& why)> waiting_progress;
  JobWork work;
  // Returns whether the runner can make progress with a job. If not, it leaves
  // jobs to others that share the store. Called from any thread.
  std::function<bool()> is_able = [] { return true; };
  // Called when something happened to the job of this id, from any thread.
  std::function<void(const std::string& id)> on_change;
  std::function<void(const JobNote& note)> on_note;
};

// Takes jobs from a store and runs them. Other coordinators may share the
// store. If the lease of a job cannot be renewed in time, the job is stopped,
// because another coordinator may run it by then. While the store cannot be
// written, the runner keeps the outcomes. Thread-safe.
class JobRunner {
 public:
  // `store` must outlive the runner.
  JobRunner(JobStore& store, JobRunnerOptions options);
  ~JobRunner();  // Like Stop(0).

  // Looks for a new job, or for one to cancel, without waiting for the next
  // poll.
  void Wake();

  // Takes no more jobs and waits `timeout_s` seconds for running ones. Puts the
  // rest back into the queue. Returns true if nothing was left.
  bool Stop(double timeout_s);

  int num_running();

 private:
  // Guarded by mutex_. The analysis cannot see that through a pointer.
  struct Running {
    JobLease lease;
    double held_until_s = 0;
    bool must_stop = false;
    bool is_lost = false;      // Another owner may have it.
    bool is_put_back = false;  // It must stop, to run again later.
    absl::Status why;          // The error that it must end with.
    double began_s = 0;        // Steady clock.
    Job job;                   // Without request and result.
  };

  void Work();
  std::optional<Job> Claim();
  // Adds `job` to the running jobs. Returns null if it is among them already.
  Running* Begin(const Job& job, double claimed_s);
  void AwaitClaims() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns null if the job does not run or has another lease.
  Running* FindRunning(const JobLease& lease)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KeepLeases();
  void HeedChanges(const Job& held, Running& running, double now_s)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PutOneBack();
  bool WaitsForWorkers(const Job& job, const absl::Status& status) const;
  double RetryDelayS(const Job& job);
  void TellWhyItWaits(const Running& running, const absl::Status& why);
  bool RenewLeases();
  absl::StatusOr<std::string> Result(const Job& job, Running& running);
  void RunJob(const Job& job, Running& running);
  bool MustStop(Running& running);
  JobLease LeaseFor(const Running& running);
  absl::Status Settle(const Running& running, Job outcome);
  // Returns a job with the state, result and error to store.
  static Job Outcome(absl::StatusOr<std::string> result, bool was_cancelled);
  void Note(bool is_warning, const char* what, const std::string& job_id,
            const absl::Status& status) const;

  JobStore& store_;
  const JobRunnerOptions options_;
  RetryTimes tries_;  // For jobs that wait for workers.
  // Whether the last call to the store failed. Logged once, not at every
  // attempt.
  std::atomic<bool> cannot_claim_ = false;
  std::atomic<bool> cannot_renew_ = false;

  Mutex mutex_;
  ConditionVariable changed_;
  bool accepting_ ABSL_GUARDED_BY(mutex_) = true;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;  // Ends running jobs.
  bool lease_thread_on_ ABSL_GUARDED_BY(mutex_) = true;
  int64_t wakes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_claims_ ABSL_GUARDED_BY(mutex_) = 0;
  // A thread claims a job, or waits until it is time to.
  bool is_looking_ ABSL_GUARDED_BY(mutex_) = false;
  // Numbers of the claims under way.
  std::set<int64_t> claiming_ ABSL_GUARDED_BY(mutex_);
  // Start of the renewal under way; steady clock.
  std::optional<double> renewing_since_s_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Running> running_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_;
  std::thread lease_thread_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_JOBS_JOB_RUNNER_H_
