#include "coordinator/store/job_events.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/store/job_row.h"

namespace tangram {
namespace {

constexpr double kFirstRetryS = 10;
constexpr double kRetryFactor = 4;
constexpr double kLongestRetryS = 6 * 3600;

double RetryAfter(int tries) {
  return std::min(kFirstRetryS * std::pow(kRetryFactor, tries - 1),
                  kLongestRetryS);
}

}  // namespace

absl::Status MakeEventDue(SqlDatabase& database, int64_t sequence,
                          const Job& job, double now_s) {
  if (job.webhook.empty()) return absl::OkStatus();
  return database.Run(
      "UPDATE jobs SET event_due_s = ?2, event_tries = 0 WHERE sequence = ?1",
      {sequence, now_s});
}

absl::StatusOr<std::optional<DueEvent>> TakeEventDue(SqlDatabase& database,
                                                     double now_s) {
  std::optional<DueEvent> due;
  const auto take = [&]() -> absl::Status {
    int64_t sequence = 0;
    // One that is due in more than a day is damage, or the clock was wrong.
    TANGRAM_RETURN_IF_ERROR(database.Run(
        absl::StrCat(
            "SELECT " TANGRAM_WHOLE_JOB_COLUMNS
            ", sequence, event_tries FROM jobs WHERE event_due_s > 0 "
            "AND state > 1 AND (event_due_s <= ?1 OR event_due_s > ?1 + 86400) "
            "ORDER BY event_due_s LIMIT 1 ",
            database.dialect().skip_locked),
        {now_s}, [&](const SqlRow& row) {
          const int64_t tries = row.Int(kNumWholeJobColumns + 1);
          due = {.job = WholeJobOf(row).job,
                 .tries = static_cast<int>(
                              std::clamp<int64_t>(tries, 0, kMaxEventTries)) +
                          1};
          sequence = row.Int(kNumWholeJobColumns);
        }));
    if (!due.has_value()) return absl::OkStatus();
    const double next_s =
        due->tries < kMaxEventTries ? now_s + RetryAfter(due->tries) : 0;
    return database.Run(
        "UPDATE jobs SET event_due_s = ?2, event_tries = ?3 "
        "WHERE sequence = ?1",
        {sequence, next_s, int64_t{due->tries}});
  };
  // Looks first: looking does not lock the database.
  bool has_due = false;
  TANGRAM_RETURN_IF_ERROR(
      database.Run("SELECT 1 FROM jobs WHERE event_due_s > 0 LIMIT 1", {},
                   [&](const SqlRow&) { has_due = true; }));
  if (!has_due) return std::nullopt;
  TANGRAM_RETURN_IF_ERROR(database.Transact(take));
  return due;
}

absl::Status SettleEventOf(SqlDatabase& database, const std::string& id) {
  return database.Run("UPDATE jobs SET event_due_s = 0 WHERE id = ?1", {id});
}

}  // namespace tangram
