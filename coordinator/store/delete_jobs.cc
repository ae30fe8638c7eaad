#include "coordinator/store/delete_jobs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/store/job_row.h"

namespace tangram {
namespace {

// Time that the clock advances until it is written again.
constexpr double kKeepIntervalS = 600;

// Jobs that ended before ?1, and those whose own time was up then. Each has its
// index.
constexpr const char* kOfCommonAge =
    "state > 1 AND finished_s > 0 AND finished_s < ?1 AND NOT keep_s > 0 "
    "ORDER BY finished_s";
constexpr const char* kOfOwnAge =
    "state > 1 AND finished_s > 0 AND keep_s > 0 AND finished_s + keep_s < ?1 "
    "ORDER BY finished_s + keep_s";

struct OldJob {
  int64_t sequence = 0;
  std::string id;
  bool is_damaged = false;
};

// Finds them, and keeps others from changing them until the transaction ends.
// Those that another connection is changing are left to it.
absl::StatusOr<std::vector<OldJob>> LockOld(SqlDatabase& database,
                                            absl::string_view which,
                                            absl::Span<const SqlValue> values) {
  std::vector<OldJob> old;
  TANGRAM_RETURN_IF_ERROR(database.Run(
      absl::StrCat("SELECT " TANGRAM_JOB_COLUMNS " FROM jobs WHERE ", which,
                   " LIMIT ?2 ", database.dialect().skip_locked),
      values, [&](const SqlRow& row) {
        StoredJob found = JobOf(row);
        old.push_back({.sequence = found.job.sequence,
                       .id = std::move(found.job.id),
                       .is_damaged = found.is_damaged});
      }));
  return old;
}

absl::StatusOr<int> DeleteOld(SqlDatabase& database, absl::string_view which,
                              double before_s, double now_s, int limit,
                              OnDamage on_damage) {
  const std::vector<SqlValue> values = {before_s, int64_t{limit}};
  // Looks first, because there rarely is one and looking does not lock the
  // database.
  bool has_old = false;
  TANGRAM_RETURN_IF_ERROR(database.Run(
      absl::StrCat("SELECT 1 FROM jobs WHERE ", which, " LIMIT ?2"), values,
      [&](const SqlRow&) { has_old = true; }));
  if (!has_old) return 0;
  int num_deleted = 0;
  const absl::Status status = database.Transact([&]() -> absl::Status {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<OldJob> old,
                             LockOld(database, which, values));
    for (const OldJob& job : old) {
      // A damaged one ends now, and so is kept for its time: its seal says that
      // the time of its end, or the like, is wrong.
      if (job.is_damaged) {
        TANGRAM_RETURN_IF_ERROR(
            EndIfDamaged(database, job.sequence, now_s, on_damage));
        continue;
      }
      TANGRAM_RETURN_IF_ERROR(DeleteJob(database, job.sequence, job.id));
      ++num_deleted;
    }
    return absl::OkStatus();
  });
  TANGRAM_RETURN_IF_ERROR(status);
  return num_deleted;
}

}  // namespace

absl::StatusOr<double> JobClock::Advance(SqlDatabase& database, double now_s) {
  if (!now_s_.has_value()) {
    double latest_s = 0;
    const auto take = [&](const SqlRow& row) {
      latest_s = std::max(latest_s, row.Double(0));
    };
    TANGRAM_RETURN_IF_ERROR(database.Run(
        "SELECT COALESCE(MAX(now_s), 0) FROM job_clock", {}, take));
    kept_s_ = latest_s;
    if (kept_s_ == 0) {
      // A damaged row may be of any time.
      for (const char* column : {"submitted_s", "finished_s"}) {
        TANGRAM_RETURN_IF_ERROR(database.Run(
            absl::StrCat("SELECT COALESCE(MAX(", column, "), 0) FROM jobs"), {},
            take));
      }
      latest_s = std::min(latest_s, now_s);
    }
    now_s_ = latest_s > 0 ? latest_s : now_s;
  }
  now_s_ = std::clamp(now_s, *now_s_, *now_s_ + kMaxForgetStepS);
  if (*now_s_ >= kept_s_ + kKeepIntervalS) {
    TANGRAM_RETURN_IF_ERROR(Keep(database));
  }
  return *now_s_;
}

absl::Status JobClock::Keep(SqlDatabase& database) {
  if (!now_s_.has_value() || *now_s_ == kept_s_) return absl::OkStatus();
  TANGRAM_RETURN_IF_ERROR(database.Run(
      "INSERT INTO job_clock (id, now_s) VALUES (1, ?1) ON CONFLICT (id) DO "
      "UPDATE SET now_s = excluded.now_s WHERE job_clock.now_s < "
      "excluded.now_s",
      {*now_s_}));
  kept_s_ = *now_s_;
  return absl::OkStatus();
}

absl::StatusOr<int> ForgetJobs(SqlDatabase& database, double clock_s,
                               double now_s, double age_s, int limit,
                               OnDamage on_damage) {
  int num_deleted = 0;
  if (age_s != 0) {
    TANGRAM_ASSIGN_OR_RETURN(
        num_deleted, DeleteOld(database, kOfCommonAge, clock_s - age_s, now_s,
                               limit, on_damage));
  }
  TANGRAM_ASSIGN_OR_RETURN(const int of_own_age,
                           DeleteOld(database, kOfOwnAge, clock_s, now_s,
                                     limit - num_deleted, on_damage));
  return num_deleted + of_own_age;
}

absl::Status DeleteJob(SqlDatabase& database, int64_t sequence,
                       const std::string& id) {
  TANGRAM_RETURN_IF_ERROR(
      database.Run("DELETE FROM events WHERE job_id = ?1", {id}));
  return database.Run("DELETE FROM jobs WHERE sequence = ?1", {sequence});
}

absl::StatusOr<int> EraseJobs(SqlDatabase& database,
                              const std::string& share_key, int limit) {
  int num_deleted = 0;
  const absl::Status status = database.Transact([&]() -> absl::Status {
    std::vector<std::pair<int64_t, std::string>> rows;
    TANGRAM_RETURN_IF_ERROR(database.Run(
        absl::StrCat("SELECT sequence, id FROM jobs WHERE share_key = ?1 "
                     "ORDER BY sequence LIMIT ?2 ",
                     database.dialect().for_update),
        {share_key, int64_t{limit}}, [&](const SqlRow& row) {
          rows.emplace_back(row.Int(0), row.String(1));
        }));
    for (const auto& [sequence, id] : rows) {
      TANGRAM_RETURN_IF_ERROR(DeleteJob(database, sequence, id));
    }
    num_deleted = static_cast<int>(rows.size());
    return absl::OkStatus();
  });
  TANGRAM_RETURN_IF_ERROR(status);
  // The log of SQLite still has the deleted bytes until it is emptied. If that
  // fails now, it happens later.
  if (num_deleted < limit && !database.dialect().is_shared) {
    database.RunScript("PRAGMA wal_checkpoint(TRUNCATE)").IgnoreError();
  }
  return num_deleted;
}

}  // namespace tangram
