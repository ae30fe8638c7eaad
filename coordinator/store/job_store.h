#ifndef TANGRAM_COORDINATOR_STORE_JOB_STORE_H_
#define TANGRAM_COORDINATOR_STORE_JOB_STORE_H_

#include <cstdint>
#include <map>
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
  std::string id;  // Tenant and name, as JobId returns it.
  // Number of its row, never given again: tells it from a job that was deleted
  // and had the same id. 0: it is not stored yet.
  int64_t sequence = 0;
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
  // Settings that callers may choose and change. Names and values are made of
  // letters, digits and "._-", and values may be empty.
  std::map<std::string, std::string> labels;
  // The job fails if it has not ended then; seconds since 1970; 0: never.
  double deadline_s = 0;
  // Time that it is kept after its end; 0: as long as others.
  double keep_s = 0;
  std::string webhook;  // URL that is told of its end; empty: none.
  // Time that coordinators ran it before they put it back.
  double ran_s = 0;
  bool operator==(const Job&) const = default;

  // Returns the time from the submission to the deadline; 0: there is none.
  double timeout_s() const {
    return deadline_s > 0 ? deadline_s - submitted_s : 0;
  }
};

// Changes of the settings of a job. Absent ones stay.
struct JobChanges {
  std::optional<int> priority;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<double> deadline_s;
  // Instead: the deadline is so long after the change; 0: none.
  std::optional<double> timeout_s;
  std::optional<double> keep_s;
};

// The end of a job that its webhook has not been told of yet.
struct DueEvent {
  Job job;        // With its result.
  int tries = 0;  // How often it was tried, including now.
  bool operator==(const DueEvent&) const = default;
};

// Tells which tenant's webhooks come next. Tenants are named by their
// share_key.
struct EventTurn {
  std::string last;  // Tenant that was taken last: the one after it is next.
  std::vector<std::string> busy;  // Tenants that are left out.
};

struct TenantUsage {
  int unfinished_jobs = 0;
  int ended_jobs = 0;
  int64_t bytes = 0;  // Size of requests and results.
};

// A step in the progress of a job.
struct JobEvent {
  int64_t number = 0;  // 1, 2, ... in order.
  // Serialised tangram.v1.PlanProgress.
  std::string progress;
  bool operator==(const JobEvent&) const = default;
};

// How a job is put back.
struct PutBack {
  // Time that it ran, by a clock that does not jump; at least 0.
  double ran_s = 0;
  // Nobody takes it for so long, unless it is to be cancelled; at most two
  // minutes. If it is not 0, others of its kind come first.
  double delay_s = 0;
};

// A coordinator's right to run a job. The attempt number distinguishes it from
// earlier leases of the same coordinator, and the sequence the job from a
// deleted one of the same id.
struct JobLease {
  std::string job_id;
  int64_t sequence = 0;
  std::string owner;
  int attempt = 0;
  bool operator==(const JobLease&) const = default;
};

inline JobLease LeaseOf(const Job& job) {
  return {.job_id = job.id,
          .sequence = job.sequence,
          .owner = job.owner,
          .attempt = job.attempts};
}

// The events of a job that are kept, so that it takes a bounded place however
// long it waits or runs.
inline constexpr int64_t kMaxJobEvents = 1000;

// The fields that a watcher of a job polls.
struct JobPulse {
  JobState state = JobState::kQueued;
  int64_t last_event = 0;    // Number of the newest event; 0: none.
  bool is_put_back = false;  // And not taken again yet.
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

struct JobOrder {
  enum class Key { kSubmitted, kStarted, kFinished, kPriority, kId };
  Key key = Key::kSubmitted;
  bool descending = true;
  bool operator==(const JobOrder&) const = default;
};

// A place in a list: behind this job. It need not exist any more.
struct JobCursor {
  std::string id;
  double submitted_s = 0;
  double key = 0;  // Value of the order's key; not used for kId.
  bool operator==(const JobCursor&) const = default;
};
JobCursor CursorAt(const Job& job, const JobOrder& order);

struct JobFilter {
  std::string tenant;            // A share_key; empty: all.
  std::vector<JobState> states;  // Empty: all.
  // At most this many jobs.
  int limit = 100;
  JobOrder order;  // Between equals, that of submission.
  std::optional<JobCursor> after;
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

  // Adds a queued job. Its submission is now, by the clock of the store, and
  // its deadline as long after it as in `job`. If the id exists with the same
  // request, or its job is damaged, returns the stored job unchanged. With
  // another request, returns kAlreadyExists.
  virtual absl::StatusOr<Job> Submit(const Job& job) = 0;
  virtual absl::StatusOr<Job> Get(const std::string& id) = 0;
  virtual absl::StatusOr<JobPulse> Pulse(const std::string& id) = 0;
  // Returns jobs without requests and results.
  virtual absl::StatusOr<std::vector<Job>> List(const JobFilter& filter) = 0;
  // Returns the number of unfinished jobs of a tenant (a share_key; empty:
  // all).
  virtual absl::StatusOr<int> CountUnfinished(const std::string& tenant) = 0;
  // Returns the number of jobs that Claim may take.
  virtual absl::StatusOr<int> CountWaiting() = 0;
  // Returns the seconds since the oldest of them was submitted; 0: there is
  // none.
  virtual absl::StatusOr<double> OldestWaitingS() = 0;
  virtual absl::StatusOr<TenantUsage> Usage(const std::string& tenant) = 0;
  // Returns whether a job waits that could take the place of `running`: one of
  // its share_key with as high a priority or, if `of_any_key`, one of another.
  virtual absl::StatusOr<bool> HasRival(const Job& running,
                                        bool of_any_key) = 0;

  // Cancels a queued job at once. The owner of a running job learns of it by
  // Renew.
  virtual absl::StatusOr<Job> Cancel(const std::string& id) = 0;
  // Changes settings. Those of a job that has ended cannot change but for
  // `labels` and `keep_s`: kFailedPrecondition.
  virtual absl::StatusOr<Job> Update(const std::string& id,
                                     const JobChanges& changes) = 0;
  // Queues a job that failed or was cancelled again, with a deadline
  // `timeout_s` from now; 0: none. Its events stay. Changes nothing if it is
  // queued or runs. kFailedPrecondition if it has succeeded or is damaged.
  virtual absl::StatusOr<Job> Retry(const std::string& id,
                                    double timeout_s) = 0;
  // Deletes a job that has ended, with its events. kFailedPrecondition if it
  // has not.
  virtual absl::Status Delete(const std::string& id) = 0;
  // Deletes up to `limit` jobs of a tenant, whatever their state. Returns the
  // number of jobs deleted. Their owners lose the leases.
  virtual absl::StatusOr<int> Erase(const std::string& tenant, int limit) = 0;

  // Takes the next job that is queued or whose owner's lease has ended. If
  // others share the database and `left_s` is positive, takes only a job that
  // has waited for `left_s` seconds, and only while no coordinator runs any
  // job: one that does may only lack room. Leaves the jobs of a share_key of
  // which `owner` runs `max_of_key` or more (0: no limit), unless their
  // priority is higher than that of all those. Between jobs that are alike in
  // all that, those come first that were never put back for a while. Leaves
  // jobs whose deadline has passed.
  virtual absl::StatusOr<std::optional<Job>> Claim(const std::string& owner,
                                                   double lease_s,
                                                   double left_s,
                                                   int max_of_key = 0) = 0;
  // Extends the leases that still hold to `lease_s` seconds from now. Returns
  // their jobs; `cancel_requested` tells which to cancel. Those whose deadline
  // has passed have a kDeadlineExceeded in `error`.
  virtual absl::StatusOr<std::vector<Job>> Renew(
      absl::Span<const JobLease> leases, double lease_s) = 0;
  // Adds an event. The newest kMaxJobEvents of the job are kept, and up to 99
  // more. If this attempt has then clearly more events than all whose
  // coordinators were lost, the job has made progress, and the losses do not
  // count any more. Returns kFailedPrecondition, and changes nothing, if the
  // lease is lost.
  virtual absl::Status AppendEvent(const JobLease& lease,
                                   const std::string& progress) = 0;
  // Ends a job with the state, result and error of `outcome`. Errors as
  // AppendEvent.
  virtual absl::Status Finish(const JobLease& lease, const Job& outcome) = 0;
  // Puts a job back into the queue. Errors as AppendEvent.
  virtual absl::Status Release(const JobLease& lease,
                               const PutBack& how = {}) = 0;
  // Jobs that were put back for a while may be taken at once.
  virtual absl::Status EndDelays() = 0;
  // Fails up to `limit` jobs whose deadline has passed and that nobody runs.
  // Returns their number.
  virtual absl::StatusOr<int> EndOverdue(int limit) = 0;

  // Returns the events of a job with a number above `after` that are kept, in
  // order.
  virtual absl::StatusOr<std::vector<JobEvent>> EventsAfter(
      const std::string& id, int64_t after) = 0;

  // Takes the end of a job with a webhook that is due: the oldest of the tenant
  // whose turn it is. Until SettleEvent, it is due again after 10 s, and four
  // times as long each further time, up to 6 hours. After kMaxEventTries it is
  // due no more.
  virtual absl::StatusOr<std::optional<DueEvent>> TakeDueEvent(
      const EventTurn& turn) = 0;
  // The event of this end is due no more. Does nothing if the job is deleted or
  // has ended again since.
  virtual absl::Status SettleEvent(const Job& ended) = 0;

  // Deletes up to `limit` jobs that ended more than `age_s` seconds ago, or
  // their own `keep_s`, with their events. Returns the number of jobs deleted.
  // 0 for `age_s`: only those with a `keep_s`.
  //
  // The time is that of a clock kept in the database, which follows the true
  // one, but never goes back, and by at most kMaxForgetStepS forward with each
  // call, or the true time if that is earlier. So a clock that jumps years
  // ahead, or began there, deletes nothing for days.
  virtual absl::StatusOr<int> Forget(double age_s, int limit) = 0;
};

inline constexpr int kMaxEventTries = 8;
// Calls come once a second, so the clock catches up ten times as fast as time
// passes: a coordinator that was away for a month deletes what is old after
// three days.
inline constexpr double kMaxForgetStepS = 10;

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_JOB_STORE_H_
