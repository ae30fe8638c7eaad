#include "coordinator/store/sql_job_store.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"
#include "coordinator/store/job_row.h"
#include "coordinator/store/migrate.h"

namespace tangram {
namespace {

// `sequence` orders jobs that were submitted within one tick of the clock.
constexpr char kTables[] = R"(
  CREATE TABLE IF NOT EXISTS jobs (
    sequence {sequence},
    id TEXT NOT NULL UNIQUE,
    request {blob} NOT NULL,
    priority BIGINT NOT NULL,
    state BIGINT NOT NULL,
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    lease_until_s DOUBLE PRECISION NOT NULL DEFAULT 0,
    submitted_s DOUBLE PRECISION NOT NULL,
    started_s DOUBLE PRECISION NOT NULL DEFAULT 0,
    finished_s DOUBLE PRECISION NOT NULL DEFAULT 0,
    result {blob} NOT NULL DEFAULT '',
    error_code BIGINT NOT NULL DEFAULT 0,
    error_message {blob} NOT NULL DEFAULT '');
  CREATE INDEX IF NOT EXISTS jobs_to_run
    ON jobs (state, priority DESC, sequence);
  CREATE TABLE IF NOT EXISTS events (
    job_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    progress {blob} NOT NULL,
    PRIMARY KEY (job_id, number));
)";
constexpr char kShares[] = R"(
  ALTER TABLE jobs ADD COLUMN share_key TEXT NOT NULL DEFAULT '';
  ALTER TABLE jobs ADD COLUMN last_event BIGINT NOT NULL DEFAULT 0;
  UPDATE jobs SET last_event = (SELECT COALESCE(MAX(number), 0) FROM events
                                WHERE job_id = id);
)";

constexpr char kLosses[] = R"(
  ALTER TABLE jobs ADD COLUMN losses BIGINT NOT NULL DEFAULT 0;
)";

// The indexes serve lists of a tenant's jobs and the deletion of old jobs. Jobs
// from before there were share keys get the tenant that their id begins with.
constexpr char kIndexes[] = R"(
  UPDATE jobs SET share_key = rtrim(rtrim(id,
    'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-'), '/')
    WHERE share_key = '' AND id LIKE '%/%';
  CREATE INDEX jobs_of_key ON jobs (share_key, sequence);
  CREATE INDEX jobs_ended ON jobs (finished_s) WHERE state > 1;
)";

// An empty seal is that of an earlier version. Coordinators of it may share the
// database for a while.
constexpr char kSeals[] = R"(
  ALTER TABLE jobs ADD COLUMN request_seal {blob} NOT NULL DEFAULT '';
  ALTER TABLE jobs ADD COLUMN outcome_seal {blob} NOT NULL DEFAULT '';
)";
// The seal of the columns that change until a job has ended.
constexpr char kEndSeals[] = R"(
  ALTER TABLE jobs ADD COLUMN end_seal {blob} NOT NULL DEFAULT '';
)";
// The first version whose rows have all seals.
constexpr int64_t kSealedFormat = 6;

// The largest number of a row. Jobs are numbered from 1 on. After 2^63 - 1
// there is no other, so no job could be submitted.
constexpr int64_t kMaxSequence = int64_t{1} << 62;

std::vector<std::string> Steps(const SqlDialect& dialect) {
  std::vector<std::string> steps;
  for (const char* step :
       {kTables, kShares, kLosses, kIndexes, kSeals, kEndSeals}) {
    steps.push_back(absl::StrReplaceAll(
        step, {{"{sequence}", dialect.sequence}, {"{blob}", dialect.blob}}));
  }
  return steps;
}

// Jobs that may be taken at the time `now`.
#define IS_WAITING(now) "(state = 0 OR (state = 1 AND lease_until_s < " now "))"
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
  "submitted_s <= " before " AND lease_until_s <= " before          \
  " AND NOT EXISTS (SELECT 1 FROM jobs AS other WHERE other.state " \
  "= 1 AND other.lease_until_s >= " now ")"
// The first ?2 of the jobs that ended before ?1.
#define OLD_JOBS                                                             \
  "SELECT id FROM jobs WHERE state > 1 AND finished_s > 0 AND finished_s < " \
  "?1 ORDER BY finished_s LIMIT ?2"
// One more attempt or loss. A count out of range stays as it is, and the row
// proves damaged; adding to it may overflow.
#define ONE_MORE(count)                                      \
  "CASE WHEN " count " BETWEEN 0 AND 1073741823 THEN " count \
  " + 1 ELSE " count " END"
static_assert(kMaxAttempts == 1'073'741'823);
// The row of a lease that holds.
#define IS_HELD "id = ?1 AND owner = ?2 AND attempts = ?3 AND state = 1"

absl::Status NoSuchJob(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("job_id: \"", id, "\" is unknown"));
}

// An error of a statement that every sound database runs is damage. Statements
// themselves tell operators nothing; SQLite's follow in parentheses, those of
// PostgreSQL after the number of their line.
absl::Status DamageOf(const absl::Status& status, absl::string_view what) {
  if (!absl::IsInternal(status)) return status;
  absl::string_view message = status.message();
  for (const absl::string_view statement : {" (", " LINE "}) {
    message = message.substr(0, message.find(statement));
  }
  return absl::DataLossError(absl::StrCat(what, ": ", message));
}

int64_t Number(JobState state) { return static_cast<int64_t>(state); }

class SqlJobStore : public JobStore {
 public:
  SqlJobStore(std::unique_ptr<SqlDatabase> database,
              std::function<double()> now_s)
      : database_(std::move(database)), now_s_(std::move(now_s)) {}

  absl::Status Initialise() {
    const MutexLock lock(mutex_);
    const SqlDialect& dialect = database_->dialect();
    const absl::StatusOr<int64_t> found =
        Migrate(*database_, "jobs", Steps(dialect));
    if (!found.ok()) {
      return DamageOf(found.status(), "the tables have another format");
    }
    const int64_t found_version = *found;
    TANGRAM_RETURN_IF_ERROR(CheckTables());
    if (found_version > 0 && found_version < kSealedFormat) {
      TANGRAM_RETURN_IF_ERROR(SealOldRows());
    }
    if (dialect.is_shared) return absl::OkStatus();
    return database_->Run("UPDATE jobs SET lease_until_s = 0 WHERE state = 1");
  }

  absl::StatusOr<Job> Submit(const Job& job) override {
    const std::string seal = RequestSeal(job);
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "INSERT INTO jobs (id, request, priority, share_key, state, "
        "submitted_s, request_seal) VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6) "
        "ON CONFLICT (id) DO NOTHING",
        {job.id, Blob{job.request}, int64_t{job.priority}, job.share_key, now_s,
         Blob{seal}}));
    TANGRAM_ASSIGN_OR_RETURN(StoredJob kept, FindWhole(job.id));
    if (kept.is_damaged) return kept.job.error;
    if (kept.job.request == job.request) return kept.job;
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

  absl::StatusOr<Job> Cancel(const std::string& id) override {
    const std::string seal =
        OutcomeSeal({.id = id, .state = JobState::kCancelled});
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    const absl::StatusOr<bool> changed = ChangeAndSeal(
        "UPDATE jobs SET cancel_requested = 1, "
        "finished_s = CASE state WHEN 0 THEN ?1 ELSE finished_s END, "
        "outcome_seal = CASE state WHEN 0 THEN ?4 ELSE outcome_seal END, "
        "state = CASE state WHEN 0 THEN ?2 ELSE state END "
        "WHERE id = ?3 AND state IN (0, 1)",
        {now_s, Number(JobState::kCancelled), id, Blob{seal}});
    TANGRAM_RETURN_IF_ERROR(changed.status());
    return Find(id);
  }

  absl::StatusOr<std::optional<Job>> Claim(const std::string& owner,
                                           double lease_s,
                                           double left_s) override {
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    const bool is_last = database_->dialect().is_shared && left_s > 0;
    std::vector<SqlValue> values = {owner, now_s + lease_s, now_s};
    if (is_last) values.push_back(now_s - left_s);
    // One statement, so that no two coordinators take the same job. The order
    // is: the share key with the fewest running jobs, priority, age. A running
    // job whose lease ended under another owner counts as a loss.
    const std::string claim =
        absl::StrCat("UPDATE jobs SET losses = CASE WHEN state = 1 AND owner "
                     "<> ?1 THEN " ONE_MORE("losses") " ELSE losses END, "
                     "state = 1, owner = ?1, "
                     "lease_until_s = ?2, started_s = ?3, "
                     "attempts = " ONE_MORE("attempts") " WHERE sequence = ("
                     "SELECT sequence FROM jobs WHERE " IS_WAITING("?3"),
                     " AND " IS_NO_SECOND_SUSPECT("?1"),
                     is_last ? " AND " IS_LEFT("?3", "?4") : "",
                     " ORDER BY (SELECT COUNT(*) FROM jobs AS other WHERE "
                     "other.state = 1 AND other.share_key = jobs.share_key), "
                     "priority DESC, sequence LIMIT 1 ",
                     database_->dialect().skip_locked,
                     ") RETURNING " TANGRAM_WHOLE_JOB_COLUMNS ", sequence");
    while (true) {
      std::optional<StoredJob> taken;
      int64_t sequence = 0;
      TANGRAM_RETURN_IF_ERROR(
          database_->Run(claim, values, [&](const SqlRow& row) {
            taken = WholeJobOf(row);
            sequence = row.Int(kNumWholeJobColumns);
          }));
      if (!taken.has_value()) return std::nullopt;
      if (!taken->is_damaged) return std::move(taken->job);
      TANGRAM_RETURN_IF_ERROR(Fail(sequence, taken->job, now_s));
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
          [&](const SqlRow& row) { held.push_back(JobOf(row).job); }));
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
    Job ended = outcome;
    ended.id = lease.job_id;
    const std::string seal = OutcomeSeal(ended);
    const MutexLock lock(mutex_);
    TANGRAM_ASSIGN_OR_RETURN(const double now_s, Now());
    TANGRAM_ASSIGN_OR_RETURN(
        const bool has_ended,
        ChangeAndSeal(
            "UPDATE jobs SET state = ?4, finished_s = ?5, result = ?6, "
            "error_code = ?7, error_message = ?8, outcome_seal = ?9 "
            "WHERE " IS_HELD,
            {lease.job_id, lease.owner, int64_t{lease.attempt},
             Number(outcome.state), now_s, Blob{outcome.result},
             static_cast<int64_t>(outcome.error.code()),
             Blob{outcome.error.message()}, Blob{seal}}));
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
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "UPDATE jobs SET state = 0, lease_until_s = ?4 WHERE " IS_HELD,
        {lease.job_id, lease.owner, int64_t{lease.attempt}, now_s}));
    return CheckHeld(lease);
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
    // Their seal says that the time of their end, or its like, is wrong.
    std::vector<std::pair<int64_t, Job>> damaged;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT " TANGRAM_JOB_COLUMNS
        ", sequence FROM jobs WHERE id IN (" OLD_JOBS ")",
        which, [&](const SqlRow& row) {
          has_old = true;
          StoredJob old = JobOf(row);
          if (!old.is_damaged || row.String(kEndSealColumn).empty()) return;
          damaged.emplace_back(row.Int(kNumJobColumns), std::move(old.job));
        }));
    if (!has_old) return 0;
    int64_t num_deleted = 0;
    const absl::Status status = database_->Transact(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
          // They end now, and so are kept for their time.
          for (const auto& [sequence, job] : damaged) {
            TANGRAM_RETURN_IF_ERROR(Fail(sequence, job, now_s));
          }
          TANGRAM_RETURN_IF_ERROR(database_->Run(
              "DELETE FROM events WHERE job_id IN (" OLD_JOBS ")", which));
          TANGRAM_RETURN_IF_ERROR(database_->Run(
              "DELETE FROM jobs WHERE id IN (" OLD_JOBS ")", which));
          num_deleted = database_->num_changed();
          return absl::OkStatus();
        });
    TANGRAM_RETURN_IF_ERROR(status);
    return static_cast<int>(num_deleted);
  }

 private:
  // Returns kDataLoss if a table has other columns or numbers than ours.
  absl::Status CheckTables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const char* read : {"SELECT " TANGRAM_WHOLE_JOB_COLUMNS
                             ", sequence, lease_until_s, last_event "
                             "FROM jobs LIMIT 1",
                             "SELECT job_id, number, progress "
                             "FROM events LIMIT 1"}) {
      TANGRAM_RETURN_IF_ERROR(
          DamageOf(database_->Run(read), "the tables are not those of jobs"));
    }
    int64_t last = 0;
    const auto take = [&last](const SqlRow& row) {
      last = std::max(last, row.Int(0));
    };
    const char* const last_given = database_->dialect().last_sequence;
    if (*last_given == '\0') return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("SELECT MAX(sequence) FROM jobs", {}, take));
    TANGRAM_RETURN_IF_ERROR(database_->Run(last_given, {"jobs"}, take));
    if (last <= kMaxSequence) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "jobs.sequence: ", last, "; expected at most ", kMaxSequence));
  }

  // Runs an UPDATE of one job, and seals the row if the job has ended. Returns
  // whether it changed a row.
  absl::StatusOr<bool> ChangeAndSeal(const std::string& update,
                                     absl::Span<const SqlValue> values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::optional<StoredJob> changed;
    const absl::Status status = database_->Transact(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
          TANGRAM_RETURN_IF_ERROR(database_->Run(
              absl::StrCat(update, " RETURNING " TANGRAM_JOB_COLUMNS), values,
              [&](const SqlRow& row) { changed = JobOf(row); }));
          const bool has_ended = changed.has_value() && !changed->is_damaged &&
                                 IsFinished(changed->job.state);
          if (!has_ended) return absl::OkStatus();
          const std::string seal = EndSeal(changed->job);
          return database_->Run("UPDATE jobs SET end_seal = ?2 WHERE id = ?1",
                                {changed->job.id, Blob{seal}});
        });
    TANGRAM_RETURN_IF_ERROR(status);
    return changed.has_value();
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
    if (job->is_damaged) damaged_.Tell(std::string(job->job.error.message()));
    return *std::move(job);
  }

  absl::StatusOr<Job> Find(const std::string& id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    TANGRAM_ASSIGN_OR_RETURN(StoredJob whole, FindWhole(id));
    return std::move(whole.job);
  }

  // Ends a damaged job, so that it is not claimed again. The row stays damaged.
  absl::Status Fail(int64_t sequence, const Job& damaged, double now_s)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    damaged_.Tell(std::string(damaged.error.message()));
    return database_->Run(
        "UPDATE jobs SET state = ?2, finished_s = ?3, error_code = ?4, "
        "error_message = ?5, end_seal = '' WHERE sequence = ?1",
        {sequence, Number(damaged.state), now_s,
         static_cast<int64_t>(damaged.error.code()),
         Blob{damaged.error.message()}});
  }

  // Seals the rows of earlier versions. Each is believed once.
  absl::Status SealOldRows() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return database_->Transact(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
          std::vector<int64_t> rows;
          TANGRAM_RETURN_IF_ERROR(database_->Run(
              "SELECT sequence FROM jobs", {},
              [&](const SqlRow& row) { rows.push_back(row.Int(0)); }));
          for (const int64_t sequence : rows) {
            TANGRAM_RETURN_IF_ERROR(SealRow(sequence));
          }
          return absl::OkStatus();
        });
  }

  absl::Status SealRow(int64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::optional<StoredJob> whole;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT " TANGRAM_WHOLE_JOB_COLUMNS " FROM jobs WHERE sequence = ?1",
        {sequence}, [&](const SqlRow& row) { whole = WholeJobOf(row); }));
    if (!whole.has_value() || whole->is_damaged) return absl::OkStatus();
    const Job& job = whole->job;
    const std::string request_seal = RequestSeal(job);
    const std::string outcome_seal =
        IsFinished(job.state) ? OutcomeSeal(job) : "";
    const std::string end_seal = IsFinished(job.state) ? EndSeal(job) : "";
    return database_->Run(
        "UPDATE jobs SET request_seal = ?2, outcome_seal = ?3, end_seal = ?4 "
        "WHERE sequence = ?1",
        {sequence, Blob{request_seal}, Blob{outcome_seal}, Blob{end_seal}});
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
