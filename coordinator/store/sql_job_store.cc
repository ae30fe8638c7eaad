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
#include "coordinator/store/job_row.h"
#include "coordinator/store/job_tables.h"

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
// Those waiting jobs that have waited since `before`, if no coordinator
// runs a job.
#define IS_LEFT(now, before)                                        \
  "submitted_s <= " before " AND NOT lease_until_s BETWEEN " before \
  " AND " now                                                       \
  " + 86400 AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE "     \
  "other.state = 1 AND " IS_LEASED("other.lease_until_s", now) ")"
// Jobs of keys of which `owner` runs fewer than `most`, or that are more urgent
// than all that it runs of the key.
#define IS_OF_KEY(owner, now)                                       \
  " FROM jobs AS mine WHERE mine.state = 1 AND mine.owner = " owner \
  " AND " IS_LEASED("mine.lease_until_s",                           \
                    now) " AND mine.share_key = jobs.share_key"
#define HAS_ROOM(owner, now, most)                                       \
  "((SELECT COUNT(*)" IS_OF_KEY(                                         \
      owner, now) ") < " most                                            \
                  " OR priority > (SELECT MAX(mine.priority)" IS_OF_KEY( \
                      owner, now) "))"
// The first ?2 of the jobs that ended before ?1.
#define OLD_JOBS                                                             \
  " FROM jobs WHERE state > 1 AND finished_s > 0 AND finished_s < ?1 ORDER " \
  "BY finished_s LIMIT ?2"
// The row of a lease that holds.
#define IS_HELD "id = ?1 AND owner = ?2 AND num_attempts = ?3 AND state = 1"

absl::Status NoSuchJob(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("job_id: \"", id, "\" is unknown"));
}

int64_t Number(JobState state) { return static_cast<int64_t>(state); }

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
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "UPDATE jobs SET last_event = (SELECT COALESCE(MAX(number), 0) FROM "
        "events WHERE job_id = id) WHERE state IN (0, 1)"));
    return database_->Run("UPDATE jobs SET lease_until_s = 0 WHERE state = 1");
  }

  absl::StatusOr<Job> Submit(const Job& job) override {
    const MutexLock lock(mutex_);
    Job queued{.id = job.id,
               .request = job.request,
               .priority = job.priority,
               .share_key = job.share_key};
    TANGRAM_ASSIGN_OR_RETURN(queued.submitted_s, Now());
    const std::string submit_seal = SubmitSeal(queued);
    const std::string row_seal = RowSeal(queued);
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "INSERT INTO jobs (id, request, priority, share_key, state, "
        "submitted_s, submit_seal, row_seal) VALUES (?1, ?2, ?3, ?4, 0, ?5, "
        "?6, ?7) ON CONFLICT (id) DO NOTHING",
        {job.id, Blob{job.request}, int64_t{job.priority}, job.share_key,
         queued.submitted_s, Blob{submit_seal}, Blob{row_seal}}));
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
        "SELECT state, last_event FROM jobs WHERE id = ?1", {id},
        [&](const SqlRow& row) {
          pulse =
              JobPulse{.state = StateOf(row.Int(0)), .last_event = row.Int(1)};
        }));
    if (!pulse.has_value()) return NoSuchJob(id);
    return *pulse;
  }

  absl::StatusOr<std::vector<Job>> List(const JobFilter& filter) override {
    const MutexLock lock(mutex_);
    int64_t before = INT64_MAX;
    if (!filter.before_id.empty()) {
      TANGRAM_ASSIGN_OR_RETURN(before, SequenceOf(filter.before_id));
    }
    int64_t wanted = 0;  // One bit for each state.
    for (const JobState state : filter.states) wanted |= 1 << Number(state);
    if (filter.states.empty()) wanted = -1;
    std::vector<SqlValue> values = {before, wanted, int64_t{filter.limit}};
    if (!filter.tenant.empty()) values.emplace_back(filter.tenant);
    std::vector<Job> jobs;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        absl::StrCat("SELECT " TANGRAM_JOB_COLUMNS
                     " FROM jobs WHERE sequence < ?1 AND "
                     "((?2 >> CASE WHEN state BETWEEN 0 AND 4 THEN "
                     "CAST(state AS INTEGER) ELSE 3 END) & 1) = 1",
                     filter.tenant.empty() ? "" : " AND share_key = ?4",
                     " ORDER BY sequence DESC LIMIT ?3"),
        values, [&](const SqlRow& row) { jobs.push_back(JobOf(row).job); }));
    return jobs;
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

  absl::StatusOr<std::optional<Job>> Claim(const std::string& owner,
                                           double lease_s, double left_s,
                                           int max_of_key) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    const bool is_last = database_->dialect().is_shared && left_s > 0;
    std::vector<SqlValue> values = {
        owner, now_s, int64_t{max_of_key > 0 ? max_of_key : INT32_MAX}};
    if (is_last) values.emplace_back(now_s - left_s);
    // The order is: the share key with the fewest running jobs, priority, age.
    const std::string next = absl::StrCat(
        IS_WAITING("?2") " AND " IS_NO_SECOND_SUSPECT("?1") " AND " HAS_ROOM(
            "?1", "?2", "?3"),
        is_last ? " AND " IS_LEFT("?2", "?4") : "",
        " ORDER BY (SELECT COUNT(*) FROM jobs AS other WHERE other.state = 1 "
        "AND other.share_key = jobs.share_key), priority DESC, sequence "
        "LIMIT 1");
    const char* const skip_locked = database_->dialect().skip_locked;
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
          Change(next, skip_locked, values, now_s, take, now_s + lease_s));
      if (!taken.has_value()) return std::nullopt;
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
          {lease.job_id, lease.owner, int64_t{lease.attempt}, now_s + lease_s},
          [&](const SqlRow& row) {
            StoredJob job = JobOf(row);
            // The next claim ends it.
            if (!job.is_damaged) held.push_back(std::move(job.job));
          }));
    }
    return held;
  }

  absl::Status AppendEvent(const JobLease& lease,
                           const std::string& progress) override {
    const MutexLock lock(mutex_);
    return database_->Transact(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
          // Keeps others from taking the job until the event is stored.
          TANGRAM_RETURN_IF_ERROR(database_->Run(
              "UPDATE jobs SET last_event = last_event + 1 WHERE " IS_HELD,
              {lease.job_id, lease.owner, int64_t{lease.attempt}}));
          TANGRAM_RETURN_IF_ERROR(CheckHeld(lease));
          return database_->Run(
              "INSERT INTO events (job_id, number, progress) "
              "SELECT id, last_event, ?2 FROM jobs WHERE id = ?1",
              {lease.job_id, Blob{progress}});
        });
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

  absl::Status Release(const JobLease& lease) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    const auto put_back = [](Job& job) {
      job.state = JobState::kQueued;
      return true;
    };
    TANGRAM_ASSIGN_OR_RETURN(const bool was_held,
                             ChangeHeld(lease, now_s, put_back, now_s));
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

  absl::StatusOr<int> Forget(double age_s, int limit) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    const std::vector<SqlValue> which = {now_s - age_s, int64_t{limit}};
    // Looks first, because there rarely is one and looking does not lock the
    // database.
    bool has_old = false;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT 1" OLD_JOBS, which, [&](const SqlRow&) { has_old = true; }));
    if (!has_old) return 0;
    int num_deleted = 0;
    const absl::Status status = database_->Transact(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
          TANGRAM_ASSIGN_OR_RETURN(const std::vector<OldJob> old,
                                   LockOld(which));
          for (const OldJob& job : old) {
            // A damaged one ends now, and so is kept for its time: its seal
            // says that the time of its end, or the like, is wrong.
            if (job.is_damaged) {
              TANGRAM_RETURN_IF_ERROR(
                  EndIfDamaged(*database_, job.sequence, now_s, tell_));
              continue;
            }
            TANGRAM_RETURN_IF_ERROR(Delete(job));
            ++num_deleted;
          }
          return absl::OkStatus();
        });
    TANGRAM_RETURN_IF_ERROR(status);
    return num_deleted;
  }

 private:
  const char* for_update() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return database_->dialect().for_update;
  }

  // Changes the one job that `which` finds and locks, and seals its row, in one
  // transaction, unless `change` returns false. A damaged job fails instead.
  // Returns the job as it is now; null: there is none.
  absl::StatusOr<std::optional<StoredJob>> Change(
      const std::string& which, const char* locks,
      absl::Span<const SqlValue> values, double now_s,
      absl::FunctionRef<bool(Job&)> change,
      std::optional<double> lease_until_s = std::nullopt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::optional<StoredJob> found;
    const std::string read = absl::StrCat("SELECT " TANGRAM_WHOLE_JOB_COLUMNS
                                          ", sequence FROM jobs WHERE ",
                                          which, " ", locks);
    const absl::Status status = database_->Transact(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
          int64_t sequence = 0;
          TANGRAM_RETURN_IF_ERROR(
              database_->Run(read, values, [&](const SqlRow& row) {
                found = WholeJobOf(row);
                sequence = row.Int(kNumWholeJobColumns);
              }));
          if (!found.has_value()) return absl::OkStatus();
          if (found->is_damaged) {
            tell_(found->job);
            found->job.finished_s = now_s;
            return WriteJob(*database_, sequence, found->job);
          }
          if (!change(found->job)) return absl::OkStatus();
          return Write(sequence, found->job, lease_until_s);
        });
    TANGRAM_RETURN_IF_ERROR(status);
    return found;
  }

  struct OldJob {
    int64_t sequence = 0;
    std::string id;
    bool is_damaged = false;
  };
  // Finds them, and keeps others from changing them until the transaction ends.
  // Those that another connection is changing are left to it.
  absl::StatusOr<std::vector<OldJob>> LockOld(absl::Span<const SqlValue> which)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<OldJob> old;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        absl::StrCat("SELECT " TANGRAM_JOB_COLUMNS ", sequence" OLD_JOBS " ",
                     database_->dialect().skip_locked),
        which, [&](const SqlRow& row) {
          StoredJob found = JobOf(row);
          old.push_back({.sequence = row.Int(kNumJobColumns),
                         .id = std::move(found.job.id),
                         .is_damaged = found.is_damaged});
        }));
    return old;
  }

  // Deletes the job with its events.
  absl::Status Delete(const OldJob& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("DELETE FROM events WHERE job_id = ?1", {job.id}));
    return database_->Run("DELETE FROM jobs WHERE sequence = ?1",
                          {job.sequence});
  }

  // Changes the job of a lease. Returns whether the lease held a sound job.
  absl::StatusOr<bool> ChangeHeld(
      const JobLease& lease, double now_s, absl::FunctionRef<bool(Job&)> change,
      std::optional<double> lease_until_s = std::nullopt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    TANGRAM_ASSIGN_OR_RETURN(
        const std::optional<StoredJob> changed,
        Change(IS_HELD, for_update(),
               {lease.job_id, lease.owner, int64_t{lease.attempt}}, now_s,
               change, lease_until_s));
    return changed.has_value() && !changed->is_damaged;
  }

  // Writes the columns that change, and the seals. Without a time, the lease
  // ends when it would have.
  absl::Status Write(int64_t sequence, const Job& job,
                     std::optional<double> lease_until_s)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (IsFinished(job.state)) return WriteJob(*database_, sequence, job);
    const std::string row_seal = RowSeal(job);
    std::vector<SqlValue> values = {sequence,
                                    Number(job.state),
                                    int64_t{job.cancel_requested},
                                    int64_t{job.attempts},
                                    int64_t{job.losses},
                                    job.owner,
                                    job.started_s,
                                    Blob{row_seal}};
    if (lease_until_s.has_value()) values.emplace_back(*lease_until_s);
    return database_->Run(
        absl::StrCat(
            "UPDATE jobs SET state = ?2, cancel_wanted = ?3, "
            "num_attempts = ?4, losses = ?5, owner = ?6, started_s = ?7, "
            "row_seal = ?8",
            lease_until_s.has_value() ? ", lease_until_s = ?9" : "",
            " WHERE sequence = ?1"),
        values);
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
  SparseWarning damaged_{"a stored job is damaged"};
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
