#include "coordinator/store/sqlite_job_store.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/store/sqlite_database.h"

namespace tangram {
namespace {

constexpr int64_t kSchemaVersion = 1;

// `sequence` orders jobs that were submitted within one tick of the clock.
constexpr char kSchema[] = R"(
  CREATE TABLE jobs (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    request BLOB NOT NULL,
    priority INTEGER NOT NULL,
    state INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    lease_until_s REAL NOT NULL DEFAULT 0,
    submitted_s REAL NOT NULL,
    started_s REAL NOT NULL DEFAULT 0,
    finished_s REAL NOT NULL DEFAULT 0,
    result BLOB NOT NULL DEFAULT x'',
    error_code INTEGER NOT NULL DEFAULT 0,
    error_message TEXT NOT NULL DEFAULT '');
  CREATE INDEX jobs_to_run ON jobs (state, priority DESC, sequence);
  CREATE TABLE events (
    job_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    progress BLOB NOT NULL,
    PRIMARY KEY (job_id, number)) WITHOUT ROWID;
  PRAGMA user_version = 1;
)";

// In the order that JobOf reads them.
#define JOB_COLUMNS                                                       \
  "id, priority, state, cancel_requested, attempts, owner, submitted_s, " \
  "started_s, finished_s, error_code, error_message"

Job JobOf(const SqlRow& row) {
  return {.id = row.String(0),
          .priority = static_cast<int>(row.Int(1)),
          .state = static_cast<JobState>(row.Int(2)),
          .cancel_requested = row.Int(3) != 0,
          .attempts = static_cast<int>(row.Int(4)),
          .owner = row.String(5),
          .submitted_s = row.Double(6),
          .started_s = row.Double(7),
          .finished_s = row.Double(8),
          .error = absl::Status(static_cast<absl::StatusCode>(row.Int(9)),
                                row.String(10))};
}

constexpr int kRequestColumn = 11;
constexpr int kResultColumn = 12;

Job WholeJobOf(const SqlRow& row) {
  Job job = JobOf(row);
  job.request = row.String(kRequestColumn);
  job.result = row.String(kResultColumn);
  return job;
}

absl::Status NoSuchJob(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("job_id: \"", id, "\" is unknown"));
}

int64_t Number(JobState state) { return static_cast<int64_t>(state); }

class SqliteJobStore : public JobStore {
 public:
  SqliteJobStore(std::unique_ptr<SqliteDatabase> database,
                 std::function<double()> now_s)
      : database_(std::move(database)), now_s_(std::move(now_s)) {}

  absl::Status Initialise() {
    int64_t version = 0;
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("PRAGMA user_version", {},
                       [&](const SqlRow& row) { version = row.Int(0); }));
    if (version == kSchemaVersion) {
      // Nobody else has the file, so whoever ran these is gone.
      return database_->Run("UPDATE jobs SET lease_until_s = 0");
    }
    if (version > kSchemaVersion) {
      return absl::FailedPreconditionError(
          absl::StrCat("database: made by a later version (format ", version,
                       "; expected ", kSchemaVersion, ")"));
    }
    return database_->Transact([&] { return database_->RunScript(kSchema); });
  }

  absl::StatusOr<Job> Submit(const Job& job) override {
    const std::lock_guard lock(mutex_);
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "INSERT INTO jobs (id, request, priority, state, submitted_s) "
        "VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        {job.id, Blob{job.request}, int64_t{job.priority},
         Number(JobState::kQueued), now_s_()}));
    TANGRAM_ASSIGN_OR_RETURN(Job kept, Find(job.id));
    if (kept.request == job.request) return kept;
    return absl::AlreadyExistsError(absl::StrCat(
        "job_id: \"", job.id, "\" is another request; expected a new id"));
  }

  absl::StatusOr<Job> Get(const std::string& id) override {
    const std::lock_guard lock(mutex_);
    return Find(id);
  }

  absl::StatusOr<std::vector<Job>> List(const JobFilter& filter) override {
    const std::lock_guard lock(mutex_);
    int64_t before = INT64_MAX;
    if (!filter.before_id.empty()) {
      TANGRAM_ASSIGN_OR_RETURN(before, SequenceOf(filter.before_id));
    }
    int64_t wanted = 0;  // A bit for each state.
    for (const JobState state : filter.states) wanted |= 1 << Number(state);
    if (filter.states.empty()) wanted = -1;
    std::vector<Job> jobs;
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("SELECT " JOB_COLUMNS
                       " FROM jobs WHERE sequence < ? AND (? >> state) & 1"
                       " ORDER BY sequence DESC LIMIT ?",
                       {before, wanted, int64_t{filter.limit}},
                       [&](const SqlRow& row) { jobs.push_back(JobOf(row)); }));
    return jobs;
  }

  absl::StatusOr<Job> Cancel(const std::string& id) override {
    const std::lock_guard lock(mutex_);
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "UPDATE jobs SET cancel_requested = 1, "
        "finished_s = CASE state WHEN 0 THEN ?1 ELSE finished_s END, "
        "state = CASE state WHEN 0 THEN ?2 ELSE state END "
        "WHERE id = ?3 AND state IN (0, 1)",
        {now_s_(), Number(JobState::kCancelled), id}));
    return Find(id);
  }

  absl::StatusOr<std::optional<Job>> Claim(const std::string& owner,
                                           double lease_s) override {
    const std::lock_guard lock(mutex_);
    const double now_s = now_s_();
    std::optional<Job> job;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "UPDATE jobs SET state = 1, owner = ?1, lease_until_s = ?2, "
        "started_s = ?3, attempts = attempts + 1 "
        "WHERE sequence = (SELECT sequence FROM jobs WHERE state = 0 OR "
        "(state = 1 AND lease_until_s < ?3) "
        "ORDER BY priority DESC, sequence LIMIT 1) "
        "RETURNING " JOB_COLUMNS ", request, result",
        {owner, now_s + lease_s, now_s},
        [&](const SqlRow& row) { job = WholeJobOf(row); }));
    return job;
  }

  absl::StatusOr<std::vector<Job>> Renew(const std::string& owner,
                                         double lease_s) override {
    const std::lock_guard lock(mutex_);
    std::vector<Job> held;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "UPDATE jobs SET lease_until_s = ? WHERE state = 1 AND owner = ? "
        "RETURNING " JOB_COLUMNS,
        {now_s_() + lease_s, owner},
        [&](const SqlRow& row) { held.push_back(JobOf(row)); }));
    return held;
  }

  absl::Status AppendEvent(const std::string& id, const std::string& owner,
                           const std::string& progress) override {
    const std::lock_guard lock(mutex_);
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "INSERT INTO events (job_id, number, progress) "
        "SELECT id, (SELECT COALESCE(MAX(number), 0) + 1 FROM events "
        "WHERE job_id = ?1), ?3 "
        "FROM jobs WHERE id = ?1 AND owner = ?2 AND state = 1",
        {id, owner, Blob{progress}}));
    return CheckHeld(id, owner);
  }

  absl::Status Finish(const Job& job, const std::string& owner) override {
    const std::lock_guard lock(mutex_);
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "UPDATE jobs SET state = ?1, finished_s = ?2, result = ?3, "
        "error_code = ?4, error_message = ?5, owner = '' "
        "WHERE id = ?6 AND owner = ?7 AND state = 1",
        {Number(job.state), now_s_(), Blob{job.result},
         static_cast<int64_t>(job.error.code()), job.error.message(), job.id,
         owner}));
    return CheckHeld(job.id, owner);
  }

  absl::Status Release(const std::string& id,
                       const std::string& owner) override {
    const std::lock_guard lock(mutex_);
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "UPDATE jobs SET state = 0, owner = '', lease_until_s = 0 "
        "WHERE id = ? AND owner = ? AND state = 1",
        {id, owner}));
    return CheckHeld(id, owner);
  }

  absl::StatusOr<std::vector<JobEvent>> EventsAfter(const std::string& id,
                                                    int64_t after) override {
    const std::lock_guard lock(mutex_);
    TANGRAM_RETURN_IF_ERROR(SequenceOf(id).status());
    std::vector<JobEvent> events;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT number, progress FROM events WHERE job_id = ? AND number > ? "
        "ORDER BY number",
        {id, after}, [&](const SqlRow& row) {
          events.push_back({.number = row.Int(0), .progress = row.String(1)});
        }));
    return events;
  }

 private:
  absl::StatusOr<Job> Find(const std::string& id) {
    std::optional<Job> job;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT " JOB_COLUMNS ", request, result FROM jobs WHERE id = ?", {id},
        [&](const SqlRow& row) { job = WholeJobOf(row); }));
    if (!job.has_value()) return NoSuchJob(id);
    return *std::move(job);
  }

  absl::StatusOr<int64_t> SequenceOf(const std::string& id) {
    std::optional<int64_t> sequence;
    TANGRAM_RETURN_IF_ERROR(
        database_->Run("SELECT sequence FROM jobs WHERE id = ?", {id},
                       [&](const SqlRow& row) { sequence = row.Int(0); }));
    if (!sequence.has_value()) return NoSuchJob(id);
    return *sequence;
  }

  // Of the statement before, which changes one row if `owner` holds the job.
  absl::Status CheckHeld(const std::string& id, const std::string& owner) {
    if (database_->num_changed() == 1) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("job \"", id, "\" is not held by ", owner));
  }

  std::mutex mutex_;
  const std::unique_ptr<SqliteDatabase> database_;
  const std::function<double()> now_s_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JobStore>> OpenSqliteJobStore(
    const std::string& path, std::function<double()> now_s) {
  TANGRAM_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database,
                           SqliteDatabase::Open(path));
  auto store =
      std::make_unique<SqliteJobStore>(std::move(database), std::move(now_s));
  TANGRAM_RETURN_IF_ERROR(store->Initialise());
  return store;
}

}  // namespace tangram
