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

enum class JobState { kQueued, kRunning, kSucceeded, kFailed, kCancelled };

inline bool IsFinished(JobState state) {
  return state != JobState::kQueued && state != JobState::kRunning;
}

// A planning request that is kept until it is answered, and its answer.
struct Job {
  std::string id;       // Whose it is and the client's choice: JobId.
  std::string request;  // Serialised tangram.v1.PlanRequest.
  int priority = 0;     // Of one key, higher runs first, then the older.
  // Next is a job of the key of which the fewest run.
  std::string share_key;
  JobState state = JobState::kQueued;
  bool cancel_requested = false;
  int attempts = 0;   // Times that a coordinator began it.
  int losses = 0;     // Of these, the ones in which the coordinator was lost.
  std::string owner;  // The coordinator that began it last.
  // Seconds since 1970; 0: not yet.
  double submitted_s = 0;
  double started_s = 0;
  double finished_s = 0;
  std::string result;  // Serialised tangram.v1.PlanFile of kSucceeded.
  absl::Status error;  // Of kFailed.
  bool operator==(const Job&) const = default;
};

// Something that happened to a job: serialised tangram.v1.PlanProgress.
struct JobEvent {
  int64_t number = 0;  // From 1 on, in order.
  std::string progress;
  bool operator==(const JobEvent&) const = default;
};

// Someone's right to run a job: the attempt tells it from those that the same
// coordinator had before.
struct JobLease {
  std::string job_id;
  std::string owner;
  int attempt = 0;
  bool operator==(const JobLease&) const = default;
};

inline JobLease LeaseOf(const Job& job) {
  return {.job_id = job.id, .owner = job.owner, .attempt = job.attempts};
}

// What whoever watches a job looks at again and again.
struct JobPulse {
  JobState state = JobState::kQueued;
  int64_t last_event = 0;  // 0: none yet.
  bool operator==(const JobPulse&) const = default;
};

// Names of different tenants' jobs never meet, and of a name of nobody's it
// cannot be told that there are tenants. Neither part has a slash.
inline std::string JobId(const std::string& tenant, const std::string& name) {
  return tenant.empty() ? name : tenant + "/" + name;
}
inline std::string TenantOf(const std::string& job_id) {
  const size_t slash = job_id.find('/');
  return slash == std::string::npos ? "" : job_id.substr(0, slash);
}

struct JobFilter {
  std::string tenant;            // Their share_key; empty: all.
  std::vector<JobState> states;  // Empty: all.
  int limit = 100;
  // Only jobs submitted before this one, so that pages follow one another;
  // empty: from the newest on.
  std::string before_id;
};

// Jobs, their progress and results, in a database that outlives the process and
// that several coordinators may share. A job is run by its owner, who holds it
// on a lease: whoever fails to renew it loses the job to another, and can write
// neither progress nor a result from then on.
//
// Every call is atomic and, once it has returned, durable. Errors: kNotFound
// for an unknown id; kResourceExhausted and kUnavailable where the database
// cannot be written; nothing is changed then, unless a connection was lost just
// after the change. Every call may therefore be made again. Thread-safe.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Adds a queued job. The same id with the same request is the same job, which
  // is returned as it is; with another request it is kAlreadyExists.
  virtual absl::StatusOr<Job> Submit(const Job& job) = 0;
  virtual absl::StatusOr<Job> Get(const std::string& id) = 0;
  virtual absl::StatusOr<JobPulse> Pulse(const std::string& id) = 0;
  // Newest first, without requests and results.
  virtual absl::StatusOr<std::vector<Job>> List(const JobFilter& filter) = 0;
  // Jobs of a tenant (as share_key; empty: all) that have not ended.
  virtual absl::StatusOr<int> CountUnfinished(const std::string& tenant) = 0;
  // Jobs that Claim may take.
  virtual absl::StatusOr<int> CountWaiting() = 0;

  // A queued job is cancelled at once; of a running one the owner learns it.
  virtual absl::StatusOr<Job> Cancel(const std::string& id) = 0;

  // Takes the next job that is queued, or whose owner's lease has ended. Where
  // others share the database and `left_s` is positive, only one that they have
  // left for so long and only while they run none, so have no room to wait for.
  virtual absl::StatusOr<std::optional<Job>> Claim(const std::string& owner,
                                                   double lease_s,
                                                   double left_s) = 0;
  // Those of `leases` that still hold, now for so long again. Jobs to be
  // cancelled say so.
  virtual absl::StatusOr<std::vector<Job>> Renew(
      absl::Span<const JobLease> leases, double lease_s) = 0;
  // kFailedPrecondition, and nothing is changed, if the lease is lost.
  virtual absl::Status AppendEvent(const JobLease& lease,
                                   const std::string& progress) = 0;
  // State, result and error are taken from `outcome`; likewise.
  virtual absl::Status Finish(const JobLease& lease, const Job& outcome) = 0;
  // Puts it back into the queue; likewise.
  virtual absl::Status Release(const JobLease& lease) = 0;

  // Events of a job with a number above `after`, in order.
  virtual absl::StatusOr<std::vector<JobEvent>> EventsAfter(
      const std::string& id, int64_t after) = 0;

  // Deletes up to `limit` jobs that ended more than `age_s` ago, with their
  // events; how many.
  virtual absl::StatusOr<int> Forget(double age_s, int limit) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_JOB_STORE_H_
