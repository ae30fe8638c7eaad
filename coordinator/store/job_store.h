#ifndef TANGRAM_COORDINATOR_STORE_JOB_STORE_H_
#define TANGRAM_COORDINATOR_STORE_JOB_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tangram {

enum class JobState {
  kQueued,     // Waits for a coordinator.
  kRunning,    // A coordinator holds it on a lease.
  kSucceeded,  // Has a result.
  kFailed,     // Has an error.
  kCancelled   // Ended on request.
};

inline bool IsFinished(JobState state) {
  return state != JobState::kQueued && state != JobState::kRunning;
}

// A planning request that is kept until it is answered, and its answer.
struct Job {
  std::string id;       // Tenant and name, as JobId returns it.
  std::string request;  // Serialised tangram.v1.PlanRequest.
  int priority = 0;     // Within a share key, higher runs first, then older.
  // The next job is of the share key with the fewest running jobs.
  std::string share_key;
  JobState state = JobState::kQueued;
  bool cancel_requested = false;
  int attempts = 0;   // Times that a coordinator began it.
  int losses = 0;     // Attempts whose coordinator was lost.
  std::string owner;  // Coordinator that began it last.
  // Seconds since 1970; 0: not yet.
  double submitted_s = 0;
  double started_s = 0;
  double finished_s = 0;
  std::string result;  // Serialised tangram.v1.PlanFile if kSucceeded.
  absl::Status error;  // Set if kFailed.
  bool operator==(const Job&) const = default;
};

// A step in the progress of a job.
struct JobEvent {
  int64_t number = 0;  // 1, 2, ... in order.
  // Serialised tangram.v1.PlanProgress.
  std::string progress;
  bool operator==(const JobEvent&) const = default;
};

// A coordinator's right to run a job. The attempt number distinguishes it from
// earlier leases of the same coordinator.
struct JobLease {
  std::string job_id;
  std::string owner;
  int attempt = 0;
  bool operator==(const JobLease&) const = default;
};

inline JobLease LeaseOf(const Job& job) {
  return {.job_id = job.id, .owner = job.owner, .attempt = job.attempts};
}

// The fields that a watcher of a job polls.
struct JobPulse {
  JobState state = JobState::kQueued;
  int64_t last_event = 0;  // Number of the newest event; 0: none.
  bool operator==(const JobPulse&) const = default;
};

// Returns the id of a tenant's job. Ids of different tenants never collide.
// Without a tenant, the id is the name, so it does not reveal that there are
// tenants. Neither part may contain a slash.
inline std::string JobId(const std::string& tenant, const std::string& name) {
  return tenant.empty() ? name : tenant + "/" + name;
}
inline std::string TenantOf(const std::string& job_id) {
  // Returns the tenant of a job id; empty: none.
  const size_t slash = job_id.find('/');
  return slash == std::string::npos ? "" : job_id.substr(0, slash);
}

struct JobFilter {
  std::string tenant;            // A share_key; empty: all.
  std::vector<JobState> states;  // Empty: all.
  // At most this many jobs.
  int limit = 100;
  // Lists only jobs submitted before this one, for the next page. Empty: starts
  // with the newest.
  std::string before_id;
};

// Jobs, their progress and their results, in a database that outlives the
// process. Several coordinators may share it. The owner of a job runs it and
// holds it on a lease. An owner that fails to renew the lease loses the job to
// another, and can then write neither progress nor a result.
//
// Every call is atomic and, once it has returned, durable. Errors: kNotFound
// for an unknown id; kResourceExhausted or kUnavailable if the database cannot
// be written; kDataLoss if it is damaged as a whole. A job whose row is damaged
// is no error: it is one that failed with kDataLoss. An error means that
// nothing was changed, unless a connection was lost just after the change.
// Every call may therefore be repeated. Thread-safe.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Adds a queued job. If the id exists with the same request, or its job is
  // damaged, returns the stored job unchanged. With another request, returns
  // kAlreadyExists.
  virtual absl::StatusOr<Job> Submit(const Job& job) = 0;
  virtual absl::StatusOr<Job> Get(const std::string& id) = 0;
  virtual absl::StatusOr<JobPulse> Pulse(const std::string& id) = 0;
  // Returns jobs, newest first, without requests and results.
  virtual absl::StatusOr<std::vector<Job>> List(const JobFilter& filter) = 0;
  // Returns the number of unfinished jobs of a tenant (a share_key; empty:
  // all).
  virtual absl::StatusOr<int> CountUnfinished(const std::string& tenant) = 0;
  // Returns the number of jobs that Claim may take.
  virtual absl::StatusOr<int> CountWaiting() = 0;
  // Returns the seconds since the oldest of them was submitted; 0: there is
  // none.
  virtual absl::StatusOr<double> OldestWaitingS() = 0;

  // Cancels a queued job at once. The owner of a running job learns of it by
  // Renew.
  virtual absl::StatusOr<Job> Cancel(const std::string& id) = 0;

  // Takes the next job that is queued or whose owner's lease has ended. If
  // others share the database and `left_s` is positive, takes only a job that
  // has waited for `left_s` seconds, and only while no coordinator runs any
  // job: one that does may only lack room. Leaves the jobs of a share_key of
  // which `owner` runs `max_of_key` or more (0: no limit), unless their
  // priority is higher than that of all those.
  virtual absl::StatusOr<std::optional<Job>> Claim(const std::string& owner,
                                                   double lease_s,
                                                   double left_s,
                                                   int max_of_key = 0) = 0;
  // Extends the leases that still hold to `lease_s` seconds from now. Returns
  // their jobs; `cancel_requested` tells which to cancel.
  virtual absl::StatusOr<std::vector<Job>> Renew(
      absl::Span<const JobLease> leases, double lease_s) = 0;
  // Adds an event. Returns kFailedPrecondition, and changes nothing, if the
  // lease is lost.
  virtual absl::Status AppendEvent(const JobLease& lease,
                                   const std::string& progress) = 0;
  // Ends a job with the state, result and error of `outcome`. Errors as
  // AppendEvent.
  virtual absl::Status Finish(const JobLease& lease, const Job& outcome) = 0;
  // Puts a job back into the queue. Errors as AppendEvent.
  virtual absl::Status Release(const JobLease& lease) = 0;

  // Returns the events of a job with a number above `after`, in order.
  virtual absl::StatusOr<std::vector<JobEvent>> EventsAfter(
      const std::string& id, int64_t after) = 0;

  // Deletes up to `limit` jobs that ended more than `age_s` seconds ago, with
  // their events. Returns the number of jobs deleted.
  virtual absl::StatusOr<int> Forget(double age_s, int limit) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_JOB_STORE_H_
