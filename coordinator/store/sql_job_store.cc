#include "coordinator/store/sql_job_store.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"
#include "coordinator/store/change_job.h"
#include "coordinator/store/delete_jobs.h"
#include "coordinator/store/job_events.h"
#include "coordinator/store/job_row.h"
#include "coordinator/store/job_tables.h"
#include "coordinator/store/read_job_list.h"

namespace tangram {
namespace {

// A lease that holds at the time `now`. One that ends in more than a day is
// damage: no owner asks for one.
#define IS_LEASED(until, now) until " BETWEEN " now " AND " now " + 86400"
// Jobs that may be taken at the time `now`.
#define IS_WAITING(now) \
  "(state = 0 OR (state = 1 AND NOT " IS_LEASED("lease_until_s", now) "))"
// Suspects are jobs with three lost coordinators. A coordinator runs at most
// one of them at a time, so that only the guilty one goes on losing
// coordinators.
#define IS_NO_SECOND_SUSPECT(owner)                                         \
  "(losses < 3 OR NOT EXISTS (SELECT 1 FROM jobs AS beside "                \
  "WHERE beside.state = 1 AND beside.losses >= 3 AND beside.owner = " owner \
  "))"
// Those waiting jobs that nobody has taken since `before`, although they could,
// if no coordinator runs a job.
#define IS_LEFT(now, before)                                    \
  "submitted_s <= " before " AND not_before_s <= " before       \
  " AND NOT lease_until_s BETWEEN " before " AND " now          \
  " + 86400 AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE " \
  "other.state = 1 AND " IS_LEASED("other.lease_until_s", now) ")"
// The keys of running jobs: how many run, how many of them `owner` runs, and
// the highest priority of these. Made once for a claim, as thousands may wait.
#define RUNNING_KEYS(owner, now) \
  "(SELECT share_key AS running_key, COUNT(*) AS num_running, "              \
  "COUNT(CASE WHEN " IS_MINE(owner, now) " THEN 1 END) AS num_mine, "        \
  "MAX(CASE WHEN " IS_MINE(owner, now) " THEN priority END) AS most_urgent " \
  "FROM jobs WHERE state = 1 GROUP BY share_key)"
#define IS_MINE(owner, now) \
  "owner = " owner " AND " IS_LEASED("lease_until_s", now)
// Jobs of keys of which the owner runs fewer than `most`, or that are more
// urgent than all that it runs of the key.
#define HAS_ROOM(most) \
  "(COALESCE(num_mine, 0) < " most " OR priority > most_urgent)"
// Jobs that may begin at the time `now`: their deadline has not passed, and
// they were not put back for longer, unless they only begin to be cancelled.
// More than two minutes are damage, or a clock that was set back: nobody asks
// for them.
#define MAY_BEGIN(now)                                          \
  "NOT deadline_s BETWEEN 1e-9 AND " now                        \
  " AND NOT (state = 0 AND cancel_wanted = 0 AND not_before_s " \
  "BETWEEN " now " AND " now " + 120)"
// The row of a lease that holds.
#define IS_HELD \
  "sequence = ?1 AND owner = ?2 AND num_attempts = ?3 AND state = 1"

// An attempt has got further than the others if it has so many more events,
// and such a part more. Two attempts that die at the same place differ by less.
constexpr double kProgressEvents = 5;
constexpr double kProgressFactor = 1.2;

// The oldest events are dropped so many at a time.
constexpr int64_t kDroppedEvents = 100;

// A lag of the clock of Forget that the log tells.
constexpr double kWarnedLagS = 3600;

class SqlJobStore : public JobStore {
 public:
  SqlJobStore(std::unique_ptr<SqlDatabase> database,
              std::function<double()> now_s)
      : database_(std::move(database)), now_s_(std::move(now_s)) {}

  absl::Status Initialise() {
    const MutexLock lock(mutex_);
    TANGRAM_RETURN_IF_ERROR(PrepareJobTables(*database_));
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    TANGRAM_RETURN_IF_ERROR(RepairJobs(*database_, now_s, tell_));
    if (database_->dialect().is_shared) return absl::OkStatus();
    has_old_leases_ = true;
    const absl::Status ended = EndOldLeases();
    // On a full disk, jobs are taken once there is room.
    return absl::IsResourceExhausted(ended) ? absl::OkStatus() : ended;
  }

  absl::StatusOr<Job> Submit(const Job& job) override {
    const MutexLock lock(mutex_);
    Job queued{.id = job.id,
               .request = job.request,
               .priority = job.priority,
               .share_key = job.share_key,
               .labels = job.labels,
               .keep_s = job.keep_s,
               .webhook = job.webhook};
    TANGRAM_ASSIGN_OR_RETURN(queued.submitted_s, Now());
    queued.deadline_s = DeadlineAfter(queued.submitted_s, job.timeout_s());
    const std::string submit_seal = SubmitSeal(queued);
    const std::string row_seal = RowSeal(queued);
    const std::string labels = LabelText(queued.labels);
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "INSERT INTO jobs (id, request, priority, share_key, state, "
        "submitted_s, submit_seal, state_seal, labels, deadline_s, keep_s, "
        "webhook, bytes) VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, "
        "?11, ?12) ON CONFLICT (id) DO NOTHING",
        {job.id, Blob{job.request}, int64_t{job.priority}, job.share_key,
         queued.submitted_s, Blob{submit_seal}, Blob{row_seal}, labels,
         queued.deadline_s, job.keep_s, job.webhook,
         static_cast<int64_t>(job.request.size())}));
    TANGRAM_ASSIGN_OR_RETURN(StoredJob kept, FindWhole(job.id));
    // Nobody knows what a damaged one asked, also once it has ended.
    if (absl::IsDataLoss(kept.job.error) || kept.job.request == job.request) {
      return kept.job;
    }
    return absl::AlreadyExistsError(absl::StrCat(
        "job_id: \"", job.id, "\" is another request; expected a new id"));
  }

  absl::StatusOr<Job> Get(const std::string& id) override {
    const MutexLock lock(mutex_);
    return Find(id);
  }

  absl::StatusOr<JobPulse> Pulse(const std::string& id) override {
    const MutexLock lock(mutex_);
    std::optional<JobPulse> pulse;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT state, last_event, not_before_s FROM jobs WHERE id = ?1", {id},
        [&](const SqlRow& row) {
          pulse = JobPulse{.state = StateOf(row.Int(0)),
                           .last_event = row.Int(1),
                           .is_put_back = row.Double(2) > 0};
        }));
    if (!pulse.has_value()) return NoSuchJob(id);
    return *pulse;
  }

  absl::StatusOr<std::vector<Job>> List(const JobFilter& filter) override {
    const MutexLock lock(mutex_);
    return ReadJobList(*database_, filter);
  }

  absl::StatusOr<TenantUsage> Usage(const std::string& tenant) override {
    const MutexLock lock(mutex_);
    return ReadTenantUsage(*database_, tenant);
  }

  absl::StatusOr<bool> HasRival(const Job& running, bool of_any_key) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    bool has_rival = false;
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("SELECT 1 FROM jobs WHERE state = 0 AND " MAY_BEGIN(
                           "?1") " AND ((share_key = ?2 AND priority >= ?3) OR "
                                 "(?4 = 1 AND share_key <> ?2)) LIMIT 1",
                       {now_s, running.share_key, int64_t{running.priority},
                        int64_t{of_any_key}},
                       [&](const SqlRow&) { has_rival = true; }));
    return has_rival;
  }

  absl::StatusOr<int> CountUnfinished(const std::string& tenant) override {
    const MutexLock lock(mutex_);
    int64_t count = 0;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT COUNT(*) FROM jobs WHERE state IN (0, 1) AND "
        "(?1 = '' OR share_key = ?1)",
        {tenant}, [&](const SqlRow& row) { count = row.Int(0); }));
    return static_cast<int>(count);
  }

  absl::StatusOr<int> CountWaiting() override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    int64_t count = 0;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT COUNT(*) FROM jobs WHERE " IS_WAITING("?1"), {now_s},
        [&](const SqlRow& row) { count = row.Int(0); }));
    return static_cast<int>(count);
  }

  absl::StatusOr<double> OldestWaitingS() override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    double submitted_s = now_s;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT COALESCE(MIN(submitted_s), ?1) FROM jobs WHERE " IS_WAITING(
            "?1"),
        {now_s}, [&](const SqlRow& row) { submitted_s = row.Double(0); }));
    return std::max(now_s - submitted_s, 0.0);
  }

  absl::StatusOr<Job> Cancel(const std::string& id) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    TANGRAM_ASSIGN_OR_RETURN(
        std::optional<StoredJob> job,
        Change("id = ?1", for_update(), {id}, now_s, [now_s](Job& changed) {
          if (IsFinished(changed.state)) return false;
          changed.cancel_requested = true;
          if (changed.state != JobState::kQueued) return true;
          changed.state = JobState::kCancelled;
          changed.finished_s = now_s;
          return true;
        }));
    if (!job.has_value()) return NoSuchJob(id);
    return std::move(job->job);
  }

  absl::StatusOr<Job> Update(const std::string& id,
                             const JobChanges& changes) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    return UpdateJob(*database_, id, changes, now_s, tell_);
  }

  absl::StatusOr<Job> Retry(const std::string& id, double timeout_s) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    return RetryJob(*database_, id, timeout_s, now_s, tell_);
  }

  absl::Status Delete(const std::string& id) override {
    const MutexLock lock(mutex_);
    return DeleteEndedJob(*database_, id);
  }

  absl::StatusOr<int> Erase(const std::string& tenant, int limit) override {
    const MutexLock lock(mutex_);
    return EraseJobs(*database_, tenant, limit);
  }

  absl::Status EndDelays() override {
    const MutexLock lock(mutex_);
    return database_->Run(
        "UPDATE jobs SET not_before_s = 0 WHERE state = 0 AND not_before_s > "
        "0");
  }

  absl::StatusOr<int> EndOverdue(int limit) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    return EndOverdueJobs(*database_, limit, now_s, tell_);
  }

  absl::StatusOr<std::optional<Job>> Claim(const std::string& owner,
                                           double lease_s, double left_s,
                                           int max_of_key) override {
    const MutexLock lock(mutex_);
    TANGRAM_RETURN_IF_ERROR(EndOldLeases());
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    const bool is_last = database_->dialect().is_shared && left_s > 0;
    std::vector<SqlValue> values = {
        owner, now_s, int64_t{max_of_key > 0 ? max_of_key : INT32_MAX},
        last_key_};
    if (is_last) values.emplace_back(now_s - left_s);
    // The order is: the share key with the fewest running jobs, and of those
    // the next after that of the last claim, so that jobs which end at once
    // keep no other key waiting; priority; those that were never put back for a
    // while; age.
    const char* const skip_locked = database_->dialect().skip_locked;
    const std::string next = absl::StrCat(
        "sequence = (SELECT sequence FROM jobs LEFT JOIN " RUNNING_KEYS(
            "?1", "?2") " AS running ON running_key = share_key WHERE "
        IS_WAITING("?2") " AND " MAY_BEGIN("?2") " AND " IS_NO_SECOND_SUSPECT(
            "?1") " AND " HAS_ROOM("?3"),
        is_last ? " AND " IS_LEFT("?2", "?5") : "",
        " ORDER BY COALESCE(num_running, 0), share_key <= ?4, share_key, "
        "priority DESC, not_before_s, sequence LIMIT 1 ",
        skip_locked, ")");
    const auto take = [&](Job& job) {
      // A running job whose lease ended under another owner counts as a loss.
      if (job.state == JobState::kRunning && job.owner != owner) ++job.losses;
      ++job.attempts;
      job.state = JobState::kRunning;
      job.owner = owner;
      job.started_s = now_s;
      return true;
    };
    while (true) {
      TANGRAM_ASSIGN_OR_RETURN(
          std::optional<StoredJob> taken,
          Change(next, skip_locked, values, now_s, take,
                 LeaseChange{.until_s = now_s + lease_s, .begins = true}));
      if (!taken.has_value()) return std::nullopt;
      last_key_ = taken->job.share_key;
      if (!taken->is_damaged) return std::move(taken->job);
    }
  }

  absl::StatusOr<std::vector<Job>> Renew(absl::Span<const JobLease> leases,
                                         double lease_s) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    std::vector<Job> held;
    for (const JobLease& lease : leases) {
      TANGRAM_RETURN_IF_ERROR(database_->Run(
          "UPDATE jobs SET lease_until_s = ?4 WHERE " IS_HELD
          " RETURNING " TANGRAM_JOB_COLUMNS,
          {lease.sequence, lease.owner, int64_t{lease.attempt},
           now_s + lease_s},
          [&](const SqlRow& row) {
            StoredJob job = JobOf(row);
            // The next claim ends it.
            if (job.is_damaged) return;
            held.push_back(std::move(job.job));
            Job& now_held = held.back();
            if (now_held.deadline_s > 0 && now_held.deadline_s <= now_s) {
              now_held.error = OverdueError(now_held);
            }
          }));
    }
    return held;
  }

  absl::Status AppendEvent(const JobLease& lease,
                           const std::string& progress) override {
    const MutexLock lock(mutex_);
    int64_t losses = 0;
    int64_t events = 0;
    int64_t furthest = 0;
    int64_t number = 0;
    const absl::Status kept = database_->Transact(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
          // Keeps others from taking the job until the event is stored.
          TANGRAM_RETURN_IF_ERROR(database_->Run(
              "UPDATE jobs SET last_event = last_event + 1, attempt_events = "
              "attempt_events + 1 WHERE " IS_HELD
              " RETURNING losses, attempt_events, furthest_events, last_event",
              {lease.sequence, lease.owner, int64_t{lease.attempt}},
              [&](const SqlRow& row) {
                losses = row.Int(0);
                events = row.Int(1);
                furthest = row.Int(2);
                number = row.Int(3);
              }));
          TANGRAM_RETURN_IF_ERROR(CheckHeld(lease));
          if (number % kDroppedEvents == 0) {
            TANGRAM_RETURN_IF_ERROR(database_->Run(
                "DELETE FROM events WHERE job_id = ?1 AND number <= ?2",
                {lease.job_id, number - kMaxJobEvents}));
          }
          return database_->Run(
              "INSERT INTO events (job_id, number, progress) "
              "SELECT id, last_event, ?2 FROM jobs WHERE sequence = ?1",
              {lease.sequence, Blob{progress}});
        });
    TANGRAM_RETURN_IF_ERROR(kept);
    const bool is_further =
        static_cast<double>(events) >
        kProgressFactor * static_cast<double>(furthest) + kProgressEvents;
    if (losses == 0 || !is_further) return absl::OkStatus();
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    return ChangeHeld(lease, now_s,
                      [](Job& job) {
                        job.losses = 0;
                        return true;
                      })
        .status();
  }

  absl::Status Finish(const JobLease& lease, const Job& outcome) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    const auto end = [&](Job& job) {
      job.state = outcome.state;
      job.result = outcome.result;
      job.error = outcome.error;
      job.finished_s = now_s;
      return true;
    };
    TANGRAM_ASSIGN_OR_RETURN(const bool has_ended,
                             ChangeHeld(lease, now_s, end));
    if (has_ended) return absl::OkStatus();
    // Perhaps an earlier call succeeded and only its reply was lost.
    TANGRAM_ASSIGN_OR_RETURN(const Job job, Find(lease.job_id));
    if (IsFinished(job.state) && LeaseOf(job) == lease) {
      return absl::OkStatus();
    }
    return IsLost(lease);
  }

  absl::Status Release(const JobLease& lease, const PutBack& how) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    const auto put_back = [&how](Job& job) {
      job.state = JobState::kQueued;
      job.ran_s += how.ran_s;
      return true;
    };
    LeaseChange change{.until_s = now_s};
    if (how.delay_s > 0) change.not_before_s = now_s + how.delay_s;
    TANGRAM_ASSIGN_OR_RETURN(const bool was_held,
                             ChangeHeld(lease, now_s, put_back, change));
    return was_held ? absl::OkStatus() : IsLost(lease);
  }

  absl::StatusOr<std::vector<JobEvent>> EventsAfter(const std::string& id,
                                                    int64_t after) override {
    const MutexLock lock(mutex_);
    TANGRAM_RETURN_IF_ERROR(SequenceOf(id).status());
    std::vector<JobEvent> events;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT number, progress FROM events WHERE job_id = ?1 AND "
        "number > ?2 ORDER BY number",
        {id, after}, [&](const SqlRow& row) {
          events.push_back({.number = row.Int(0), .progress = row.String(1)});
        }));
    return events;
  }

  absl::StatusOr<std::optional<DueEvent>> TakeDueEvent(
      const EventTurn& turn) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    return TakeEventDue(*database_, turn, now_s);
  }

  absl::Status SettleEvent(const Job& ended) override {
    const MutexLock lock(mutex_);
    return SettleEventOf(*database_, ended);
  }

  absl::StatusOr<int> Forget(double age_s, int limit) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    TANGRAM_ASSIGN_OR_RETURN(const double clock_s,
                             clock_.Advance(*database_, now_s));
    if (now_s - clock_s > kWarnedLagS) {
      late_.Tell(
          absl::StrCat("the clock has jumped, or no coordinator ran for long: ",
                       static_cast<int64_t>(now_s - clock_s), " s"));
    }
    // The clock of a database that was made in a false future is ahead.
    TANGRAM_ASSIGN_OR_RETURN(const int num_deleted,
                             ForgetJobs(*database_, std::min(clock_s, now_s),
                                        now_s, age_s, limit, tell_));
    if (num_deleted > 0) TANGRAM_RETURN_IF_ERROR(clock_.Keep(*database_));
    return num_deleted;
  }

 private:
  // Ends the leases of the process before, and repairs the numbers of events,
  // unless that is done. This one takes no job before.
  absl::Status EndOldLeases() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!has_old_leases_) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "UPDATE jobs SET last_event = (SELECT COALESCE(MAX(number), 0) FROM "
        "events WHERE job_id = id) WHERE state IN (0, 1)"));
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("UPDATE jobs SET lease_until_s = 0 WHERE state = 1"));
    has_old_leases_ = false;
    return absl::OkStatus();
  }

  const char* for_update() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return database_->dialect().for_update;
  }

  absl::StatusOr<std::optional<StoredJob>> Change(
      const std::string& which, const char* locks,
      absl::Span<const SqlValue> values, double now_s,
      absl::FunctionRef<bool(Job&)> change,
      std::optional<LeaseChange> lease = std::nullopt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ChangeJob(*database_, which, locks, values, now_s, change, tell_,
                     lease);
  }

  // Changes the job of a lease. Returns whether the lease held a sound job.
  absl::StatusOr<bool> ChangeHeld(
      const JobLease& lease, double now_s, absl::FunctionRef<bool(Job&)> change,
      std::optional<LeaseChange> lease_change = std::nullopt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    TANGRAM_ASSIGN_OR_RETURN(
        const std::optional<StoredJob> changed,
        Change(IS_HELD, for_update(),
               {lease.sequence, lease.owner, int64_t{lease.attempt}}, now_s,
               change, lease_change));
    return changed.has_value() && !changed->is_damaged;
  }

  absl::StatusOr<double> Now() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (now_s_) return now_s_();
    double now_s = 0;
    TANGRAM_RETURN_IF_ERROR(
        database_->Run(absl::StrCat("SELECT ", database_->dialect().now), {},
                       [&](const SqlRow& row) { now_s = row.Double(0); }));
    return now_s;
  }

  absl::StatusOr<StoredJob> FindWhole(const std::string& id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::optional<StoredJob> job;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT " TANGRAM_WHOLE_JOB_COLUMNS " FROM jobs WHERE id = ?1", {id},
        [&](const SqlRow& row) { job = WholeJobOf(row); }));
    if (!job.has_value()) return NoSuchJob(id);
    if (job->is_damaged) tell_(job->job);
    return *std::move(job);
  }

  absl::StatusOr<Job> Find(const std::string& id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    TANGRAM_ASSIGN_OR_RETURN(StoredJob whole, FindWhole(id));
    return std::move(whole.job);
  }

  absl::StatusOr<int64_t> SequenceOf(const std::string& id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::optional<int64_t> sequence;
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("SELECT sequence FROM jobs WHERE id = ?1", {id},
                       [&](const SqlRow& row) { sequence = row.Int(0); }));
    if (!sequence.has_value()) return NoSuchJob(id);
    return *sequence;
  }

  static absl::Status IsLost(const JobLease& lease) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job \"", lease.job_id, "\" is not held by ", lease.owner));
  }

  // Checks the statement before, which changes one row if the lease holds.
  absl::Status CheckHeld(const JobLease& lease)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return database_->num_changed() == 1 ? absl::OkStatus() : IsLost(lease);
  }

  Mutex mutex_;
  const std::unique_ptr<SqlDatabase> database_ ABSL_PT_GUARDED_BY(mutex_);
  const std::function<double()> now_s_;
  // A database that is not shared may have leases of the process before.
  bool has_old_leases_ ABSL_GUARDED_BY(mutex_) = false;
  std::string last_key_ ABSL_GUARDED_BY(mutex_);  // The last claim's.
  JobClock clock_ ABSL_GUARDED_BY(mutex_);
  SparseWarning damaged_{"a stored job is damaged"};
  SparseWarning late_{"old jobs are deleted later"};
  const std::function<void(const Job&)> tell_ = [this](const Job& job) {
    damaged_.Tell(std::string(job.error.message()));
  };
};

}  // namespace

absl::StatusOr<std::unique_ptr<JobStore>> CreateSqlJobStore(
    std::unique_ptr<SqlDatabase> database, std::function<double()> now_s) {
  auto store =
      std::make_unique<SqlJobStore>(std::move(database), std::move(now_s));
  TANGRAM_RETURN_IF_ERROR(store->Initialise());
  return store;
}

}  // namespace tangram
