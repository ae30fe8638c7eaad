#include "coordinator/store/job_tables.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
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

constexpr char kSeals[] = R"(
  ALTER TABLE jobs ADD COLUMN request_seal {blob} NOT NULL DEFAULT '';
  ALTER TABLE jobs ADD COLUMN outcome_seal {blob} NOT NULL DEFAULT '';
)";
// The seal of the columns that change until a job has ended.
constexpr char kEndSeals[] = R"(
  ALTER TABLE jobs ADD COLUMN end_seal {blob} NOT NULL DEFAULT '';
)";
// The seal of a row that ends becomes one of every row. Coordinators of earlier
// versions would not renew it, so the new names stop them: each of their
// statements that changes a row names one of these columns.
constexpr char kRowSeals[] = R"(
  ALTER TABLE jobs RENAME COLUMN request_seal TO submit_seal;
  ALTER TABLE jobs RENAME COLUMN end_seal TO row_seal;
  ALTER TABLE jobs RENAME COLUMN attempts TO num_attempts;
  ALTER TABLE jobs RENAME COLUMN cancel_requested TO cancel_wanted;
)";
// Settings of jobs, and what the store keeps about them: when one that was put
// back may be taken, the bytes of request and result, the events of the attempt
// and of the longest one that lost its coordinator, and when its webhook is
// told. Earlier coordinators would not seal the settings, so a new name stops
// them, as above. `job_clock` is the time by which jobs are deleted.
constexpr char kSettings[] = R"(
  ALTER TABLE jobs RENAME COLUMN row_seal TO state_seal;
  ALTER TABLE jobs ADD COLUMN labels TEXT NOT NULL DEFAULT '';
  ALTER TABLE jobs ADD COLUMN deadline_s DOUBLE PRECISION NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN keep_s DOUBLE PRECISION NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN webhook TEXT NOT NULL DEFAULT '';
  ALTER TABLE jobs ADD COLUMN ran_s DOUBLE PRECISION NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN not_before_s DOUBLE PRECISION NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN attempt_events BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN furthest_events BIGINT NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN event_due_s DOUBLE PRECISION NOT NULL DEFAULT 0;
  ALTER TABLE jobs ADD COLUMN event_tries BIGINT NOT NULL DEFAULT 0;
  UPDATE jobs SET bytes = length(request) + length(result);
  CREATE INDEX jobs_by_time ON jobs (submitted_s, sequence);
  CREATE INDEX jobs_of_key_by_time ON jobs (share_key, submitted_s, sequence);
  CREATE INDEX jobs_used ON jobs (share_key, state, bytes);
  CREATE INDEX jobs_with_deadline ON jobs (deadline_s)
    WHERE state < 2 AND deadline_s > 0;
  CREATE INDEX jobs_kept ON jobs ((finished_s + keep_s))
    WHERE state > 1 AND keep_s > 0;
  CREATE INDEX jobs_to_tell ON jobs (event_due_s) WHERE event_due_s > 0;
  CREATE TABLE job_clock (
    id BIGINT PRIMARY KEY,
    now_s DOUBLE PRECISION NOT NULL);
)";
// Tenants take turns with their webhooks.
constexpr char kTurns[] = R"(
  CREATE INDEX jobs_to_tell_of_key ON jobs (share_key, event_due_s)
    WHERE event_due_s > 0;
)";
// Claims read it alone, not the rows, which hold requests. Thousands may wait.
constexpr char kWaiting[] = R"(
  CREATE INDEX jobs_waiting ON jobs (state, share_key, priority, not_before_s,
    deadline_s, cancel_wanted, losses, lease_until_s, owner, sequence);
)";
// The first version whose rows have all seals.
constexpr int64_t kSealedFormat = 7;

// The largest number of a row. Jobs are numbered from 1 on. After 2^63 - 1
// there is no other, so no job could be submitted.
constexpr int64_t kMaxSequence = int64_t{1} << 62;

std::vector<std::string> Steps(const SqlDialect& dialect) {
  std::vector<std::string> steps;
  for (const char* step : {kTables, kShares, kLosses, kIndexes, kSeals,
                           kEndSeals, kRowSeals, kSettings, kTurns, kWaiting}) {
    steps.push_back(absl::StrReplaceAll(
        step, {{"{sequence}", dialect.sequence}, {"{blob}", dialect.blob}}));
  }
  return steps;
}

// Rows whose state no claim and no end looks for, or whose job has not ended.
constexpr char kUnended[] =
    "SELECT sequence FROM jobs WHERE state < 2 OR state > 4 OR "
    "NOT finished_s > 0";
// Rows that a database without types of columns may hold: no comparison finds
// their values, or their id is no text.
constexpr char kOdd[] =
    "SELECT sequence FROM jobs WHERE id GLOB '*[^ -~]*' OR "
    "typeof(id) <> 'text' OR typeof(owner) <> 'text' OR "
    "typeof(share_key) <> 'text' OR typeof(priority) <> 'integer' OR "
    "typeof(state) <> 'integer' OR typeof(cancel_wanted) <> 'integer' OR "
    "typeof(num_attempts) <> 'integer' OR typeof(losses) <> 'integer' OR "
    "typeof(error_code) <> 'integer' OR typeof(submitted_s) <> 'real' OR "
    "typeof(started_s) <> 'real' OR typeof(finished_s) <> 'real' OR "
    "typeof(labels) <> 'text' OR typeof(webhook) <> 'text' OR "
    "typeof(deadline_s) <> 'real' OR typeof(keep_s) <> 'real' OR "
    "typeof(ran_s) <> 'real'";

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

absl::StatusOr<std::vector<int64_t>> Sequences(SqlDatabase& database,
                                               const std::string& query) {
  std::vector<int64_t> sequences;
  TANGRAM_RETURN_IF_ERROR(database.Run(
      query, {}, [&](const SqlRow& row) { sequences.push_back(row.Int(0)); }));
  return sequences;
}

// Keeps others from changing the row until the transaction ends.
absl::StatusOr<std::optional<StoredJob>> LockRow(SqlDatabase& database,
                                                 int64_t sequence,
                                                 Seals seals) {
  std::optional<StoredJob> whole;
  TANGRAM_RETURN_IF_ERROR(database.Run(
      absl::StrCat("SELECT " TANGRAM_WHOLE_JOB_COLUMNS
                   " FROM jobs WHERE sequence = ?1 ",
                   database.dialect().for_update),
      {sequence}, [&](const SqlRow& row) { whole = WholeJobOf(row, seals); }));
  return whole;
}

// Seals the rows of earlier formats. Each is believed once, unless it has a
// seal that is wrong.
absl::Status SealOldRows(SqlDatabase& database) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int64_t> sequences,
                           Sequences(database, "SELECT sequence FROM jobs"));
  for (const int64_t sequence : sequences) {
    TANGRAM_ASSIGN_OR_RETURN(const std::optional<StoredJob> whole,
                             LockRow(database, sequence, Seals::kIfPresent));
    if (!whole.has_value() || whole->is_damaged) continue;
    TANGRAM_RETURN_IF_ERROR(WriteJob(database, sequence, whole->job));
  }
  return absl::OkStatus();
}

// Ends a damaged job now. A sound one in an odd row is written again.
absl::Status Repair(SqlDatabase& database, int64_t sequence, double now_s,
                    bool is_odd, OnDamage on_damage) {
  TANGRAM_ASSIGN_OR_RETURN(std::optional<StoredJob> whole,
                           LockRow(database, sequence, Seals::kRequired));
  if (!whole.has_value()) return absl::OkStatus();
  if (whole->is_damaged) {
    on_damage(whole->job);
    whole->job.finished_s = now_s;
  } else if (!is_odd) {
    return absl::OkStatus();
  }
  return WriteJob(database, sequence, whole->job);
}

// Returns kDataLoss if a table has other columns or numbers than ours.
absl::Status CheckTables(SqlDatabase& database) {
  for (const char* read : {"SELECT " TANGRAM_WHOLE_JOB_COLUMNS
                           ", sequence, lease_until_s, last_event, "
                           "not_before_s, bytes, attempt_events, "
                           "furthest_events, event_due_s, event_tries "
                           "FROM jobs LIMIT 1",
                           "SELECT id, now_s FROM job_clock",
                           "SELECT job_id, number, progress "
                           "FROM events LIMIT 1"}) {
    TANGRAM_RETURN_IF_ERROR(
        DamageOf(database.Run(read), "the tables are not those of jobs"));
  }
  int64_t last = 0;
  const auto take = [&last](const SqlRow& row) {
    last = std::max(last, row.Int(0));
  };
  const char* const last_given = database.dialect().last_sequence;
  if (*last_given == '\0') return absl::OkStatus();
  TANGRAM_RETURN_IF_ERROR(
      database.Run("SELECT MAX(sequence) FROM jobs", {}, take));
  TANGRAM_RETURN_IF_ERROR(database.Run(last_given, {"jobs"}, take));
  if (last <= kMaxSequence) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("jobs.sequence: ", last,
                                          "; expected at most ", kMaxSequence));
}

}  // namespace

absl::Status PrepareJobTables(SqlDatabase& database) {
  const auto seal = [&database](int64_t found) {
    return found > 0 && found < kSealedFormat ? SealOldRows(database)
                                              : absl::OkStatus();
  };
  const absl::StatusOr<int64_t> found =
      Migrate(database, "jobs", Steps(database.dialect()), seal);
  if (!found.ok()) {
    return DamageOf(found.status(), "the tables have another format");
  }
  return CheckTables(database);
}

absl::Status EndIfDamaged(SqlDatabase& database, int64_t sequence, double now_s,
                          OnDamage on_damage) {
  return Repair(database, sequence, now_s, /*is_odd=*/false, on_damage);
}

absl::Status RepairJobs(SqlDatabase& database, double now_s,
                        OnDamage on_damage) {
  return database.Transact([&]() -> absl::Status {
    std::vector<int64_t> odd;
    if (!database.dialect().has_types) {
      TANGRAM_ASSIGN_OR_RETURN(odd, Sequences(database, kOdd));
    }
    for (const int64_t sequence : odd) {
      TANGRAM_RETURN_IF_ERROR(
          Repair(database, sequence, now_s, /*is_odd=*/true, on_damage));
    }
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<int64_t> unended,
                             Sequences(database, kUnended));
    for (const int64_t sequence : unended) {
      TANGRAM_RETURN_IF_ERROR(
          EndIfDamaged(database, sequence, now_s, on_damage));
    }
    return absl::OkStatus();
  });
}

absl::Status WriteJob(SqlDatabase& database, int64_t sequence, const Job& job) {
  const std::string submit_seal = SubmitSeal(job);
  const std::string outcome_seal = OutcomeSeal(job);
  const std::string row_seal = RowSeal(job);
  const std::string labels = LabelText(job.labels);
  return database.Run(
      "UPDATE jobs SET id = ?2, priority = ?3, state = ?4, "
      "cancel_wanted = ?5, num_attempts = ?6, owner = ?7, submitted_s = ?8, "
      "started_s = ?9, finished_s = ?10, error_code = ?11, "
      "error_message = ?12, share_key = ?13, losses = ?14, request = ?15, "
      "result = ?16, submit_seal = ?17, outcome_seal = ?18, "
      "state_seal = ?19, labels = ?20, deadline_s = ?21, keep_s = ?22, "
      "webhook = ?23, ran_s = ?24, bytes = ?25, not_before_s = "
      "CASE WHEN ?4 > 1 THEN 0 ELSE not_before_s END WHERE sequence = ?1",
      {sequence,
       job.id,
       int64_t{job.priority},
       static_cast<int64_t>(job.state),
       int64_t{job.cancel_requested},
       int64_t{job.attempts},
       job.owner,
       job.submitted_s,
       job.started_s,
       job.finished_s,
       static_cast<int64_t>(job.error.code()),
       Blob{job.error.message()},
       job.share_key,
       int64_t{job.losses},
       Blob{job.request},
       Blob{job.result},
       Blob{submit_seal},
       Blob{outcome_seal},
       Blob{row_seal},
       labels,
       job.deadline_s,
       job.keep_s,
       job.webhook,
       job.ran_s,
       static_cast<int64_t>(job.request.size() + job.result.size())});
}

}  // namespace tangram
