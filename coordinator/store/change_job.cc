#include "coordinator/store/change_job.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/store/delete_jobs.h"
#include "coordinator/store/job_events.h"

namespace tangram {
namespace {

// The jobs whose deadline has passed at the time ?1 and that nobody runs. The
// owner of a running one is given a minute to end it.
constexpr char kOverdue[] =
    "state < 2 AND deadline_s > 0 AND deadline_s <= ?1 AND (state = 0 OR NOT "
    "lease_until_s BETWEEN ?1 - 60 AND ?1 + 86400)";

absl::Status HasEnded(const std::string& id) {
  return absl::FailedPreconditionError(absl::StrCat(
      "job_id: \"", id,
      "\" has ended; expected one that has not, or labels and keep_s alone"));
}

// Writes the columns that an attempt changes, and the seal.
absl::Status WriteAttempt(SqlDatabase& database, int64_t sequence,
                          const Job& job, const LeaseChange& lease) {
  const std::string row_seal = RowSeal(job);
  // Columns on the right have the values from before.
  const char* const also =
      lease.begins
          ? ", furthest_events = CASE WHEN state = 1 AND owner <> ?6 AND "
            "attempt_events > furthest_events THEN attempt_events ELSE "
            "furthest_events END, attempt_events = 0"
          : "";
  return database.Run(
      absl::StrCat("UPDATE jobs SET state = ?2, cancel_wanted = ?3, "
                   "num_attempts = ?4, losses = ?5, owner = ?6, "
                   "started_s = ?7, state_seal = ?8, lease_until_s = ?9, "
                   "not_before_s = ?10, ran_s = ?11",
                   also, " WHERE sequence = ?1"),
      {sequence, static_cast<int64_t>(job.state), int64_t{job.cancel_requested},
       int64_t{job.attempts}, int64_t{job.losses}, job.owner, job.started_s,
       Blob{row_seal}, lease.until_s, lease.not_before_s, job.ran_s});
}

absl::Status Write(SqlDatabase& database, int64_t sequence, const Job& job,
                   bool had_ended, double now_s,
                   const std::optional<LeaseChange>& lease) {
  const bool has_ended = IsFinished(job.state);
  if (lease.has_value() && !has_ended) {
    return WriteAttempt(database, sequence, job, *lease);
  }
  TANGRAM_RETURN_IF_ERROR(WriteJob(database, sequence, job));
  if (!has_ended || had_ended) return absl::OkStatus();
  return MakeEventDue(database, sequence, job, now_s);
}

// Changes the job of this id, which must exist.
absl::StatusOr<Job> ChangeOne(SqlDatabase& database, const std::string& id,
                              double now_s, OnDamage on_damage,
                              absl::FunctionRef<bool(Job&)> change) {
  TANGRAM_ASSIGN_OR_RETURN(
      std::optional<StoredJob> job,
      ChangeJob(database, "id = ?1", database.dialect().for_update, {id}, now_s,
                change, on_damage));
  if (!job.has_value()) return NoSuchJob(id);
  return std::move(job->job);
}

}  // namespace

absl::Status NoSuchJob(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("job_id: \"", id, "\" is unknown"));
}

absl::Status OverdueError(const Job& job) {
  return absl::DeadlineExceededError(
      absl::StrCat("job \"", job.id, "\" has not ended by its deadline"));
}

double DeadlineAfter(double now_s, double timeout_s) {
  return timeout_s > 0 ? now_s + timeout_s : 0;
}

absl::StatusOr<std::optional<StoredJob>> ChangeJob(
    SqlDatabase& database, const std::string& which, const char* locks,
    absl::Span<const SqlValue> values, double now_s,
    absl::FunctionRef<bool(Job&)> change, OnDamage on_damage,
    std::optional<LeaseChange> lease) {
  std::optional<StoredJob> found;
  const std::string read =
      absl::StrCat("SELECT " TANGRAM_WHOLE_JOB_COLUMNS " FROM jobs WHERE ",
                   which, " ", locks);
  const absl::Status status = database.Transact([&]() -> absl::Status {
    TANGRAM_RETURN_IF_ERROR(database.Run(
        read, values, [&](const SqlRow& row) { found = WholeJobOf(row); }));
    if (!found.has_value()) return absl::OkStatus();
    const int64_t sequence = found->job.sequence;
    if (found->is_damaged) {
      on_damage(found->job);
      found->job.finished_s = now_s;
      return WriteJob(database, sequence, found->job);
    }
    const bool had_ended = IsFinished(found->job.state);
    if (!change(found->job)) return absl::OkStatus();
    return Write(database, sequence, found->job, had_ended, now_s, lease);
  });
  TANGRAM_RETURN_IF_ERROR(status);
  return found;
}

absl::StatusOr<Job> UpdateJob(SqlDatabase& database, const std::string& id,
                              const JobChanges& changes, double now_s,
                              OnDamage on_damage) {
  absl::Status refusal;
  TANGRAM_ASSIGN_OR_RETURN(
      Job job, ChangeOne(database, id, now_s, on_damage, [&](Job& changed) {
        if (IsFinished(changed.state) &&
            (changes.priority.has_value() || changes.deadline_s.has_value() ||
             changes.timeout_s.has_value())) {
          refusal = HasEnded(id);
          return false;
        }
        changed.priority = changes.priority.value_or(changed.priority);
        changed.deadline_s = changes.deadline_s.value_or(changed.deadline_s);
        if (changes.timeout_s.has_value()) {
          changed.deadline_s = DeadlineAfter(now_s, *changes.timeout_s);
        }
        changed.keep_s = changes.keep_s.value_or(changed.keep_s);
        if (changes.labels.has_value()) changed.labels = *changes.labels;
        return true;
      }));
  TANGRAM_RETURN_IF_ERROR(refusal);
  return job;
}

absl::StatusOr<Job> RetryJob(SqlDatabase& database, const std::string& id,
                             double timeout_s, double now_s,
                             OnDamage on_damage) {
  absl::Status refusal;
  const auto queue = [&](Job& job) {
    if (!IsFinished(job.state)) return false;
    if (absl::IsDataLoss(job.error)) {
      refusal = absl::FailedPreconditionError(job.error.message());
    } else if (job.state == JobState::kSucceeded) {
      refusal = absl::FailedPreconditionError(
          absl::StrCat("job_id: \"", id,
                       "\" has succeeded; expected one that failed or was "
                       "cancelled"));
    }
    if (!refusal.ok()) return false;
    job.state = JobState::kQueued;
    job.cancel_requested = false;
    job.losses = 0;
    job.ran_s = 0;
    job.finished_s = 0;
    job.error = absl::OkStatus();
    job.deadline_s = DeadlineAfter(now_s, timeout_s);
    return true;
  };
  TANGRAM_ASSIGN_OR_RETURN(Job job,
                           ChangeOne(database, id, now_s, on_damage, queue));
  TANGRAM_RETURN_IF_ERROR(refusal);
  return job;
}

absl::Status DeleteEndedJob(SqlDatabase& database, const std::string& id) {
  return database.Transact([&]() -> absl::Status {
    int64_t sequence = 0;
    bool has_ended = false;
    TANGRAM_RETURN_IF_ERROR(database.Run(
        absl::StrCat("SELECT sequence, state FROM jobs WHERE id = ?1 ",
                     database.dialect().for_update),
        {id}, [&](const SqlRow& row) {
          sequence = row.Int(0);
          has_ended = IsFinished(StateOf(row.Int(1)));
        }));
    if (sequence == 0) return NoSuchJob(id);
    if (!has_ended) {
      return absl::FailedPreconditionError(
          absl::StrCat("job_id: \"", id,
                       "\" has not ended; expected one that has: cancel "
                       "it first"));
    }
    return DeleteJob(database, sequence, id);
  });
}

absl::StatusOr<int> EndOverdueJobs(SqlDatabase& database, int limit,
                                   double now_s, OnDamage on_damage) {
  const auto end = [now_s](Job& job) {
    job.state = JobState::kFailed;
    job.error = OverdueError(job);
    job.finished_s = now_s;
    return true;
  };
  for (int count = 0; count < limit; ++count) {
    // Looks first: looking does not lock the database.
    bool is_one = false;
    TANGRAM_RETURN_IF_ERROR(database.Run(
        absl::StrCat("SELECT 1 FROM jobs WHERE ", kOverdue, " LIMIT 1"),
        {now_s}, [&](const SqlRow&) { is_one = true; }));
    if (!is_one) return count;
    TANGRAM_ASSIGN_OR_RETURN(
        const std::optional<StoredJob> ended,
        ChangeJob(
            database, absl::StrCat(kOverdue, " ORDER BY deadline_s LIMIT 1"),
            database.dialect().skip_locked, {now_s}, now_s, end, on_damage));
    if (!ended.has_value()) return count;
  }
  return limit;
}

}  // namespace tangram
