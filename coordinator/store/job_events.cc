#include "coordinator/store/job_events.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

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

// Finds the oldest due event of the first tenant that is not busy, in the order
// of their names: those behind `turn.last`, or those up to it.
absl::StatusOr<std::optional<int64_t>> FindDue(SqlDatabase& database,
                                               const EventTurn& turn,
                                               bool is_behind, double now_s) {
  std::vector<SqlValue> values = {now_s, turn.last};
  // One that is due in more than a day is damage, or the clock was wrong.
  std::string query = absl::StrCat(
      "SELECT sequence FROM jobs WHERE event_due_s > 0 AND state > 1 AND "
      "(event_due_s <= ?1 OR event_due_s > ?1 + 86400) AND share_key ",
      is_behind ? ">" : "<=", " ?2");
  for (const std::string& busy : turn.busy) {
    values.emplace_back(busy);
    absl::StrAppend(&query, " AND share_key <> ?", values.size());
  }
  absl::StrAppend(&query, " ORDER BY share_key, event_due_s LIMIT 1 ",
                  database.dialect().skip_locked);
  std::optional<int64_t> sequence;
  TANGRAM_RETURN_IF_ERROR(database.Run(
      query, values, [&](const SqlRow& row) { sequence = row.Int(0); }));
  return sequence;
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
                                                     const EventTurn& turn,
                                                     double now_s) {
  std::optional<DueEvent> due;
  const auto take = [&]() -> absl::Status {
    std::optional<int64_t> sequence;
    for (const bool is_behind : {true, false}) {
      if (sequence.has_value()) break;
      TANGRAM_ASSIGN_OR_RETURN(sequence,
                               FindDue(database, turn, is_behind, now_s));
    }
    if (!sequence.has_value()) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(
        database.Run("SELECT " TANGRAM_WHOLE_JOB_COLUMNS
                     ", event_tries FROM jobs WHERE sequence = ?1",
                     {*sequence}, [&](const SqlRow& row) {
                       const int64_t tries = row.Int(kNumWholeJobColumns);
                       due = {.job = WholeJobOf(row).job,
                              .tries = static_cast<int>(std::clamp<int64_t>(
                                           tries, 0, kMaxEventTries)) +
                                       1};
                     }));
    if (!due.has_value()) return absl::OkStatus();
    const double next_s =
        due->tries < kMaxEventTries ? now_s + RetryAfter(due->tries) : 0;
    return database.Run(
        "UPDATE jobs SET event_due_s = ?2, event_tries = ?3 "
        "WHERE sequence = ?1",
        {*sequence, next_s, int64_t{due->tries}});
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

absl::Status SettleEventOf(SqlDatabase& database, const Job& ended) {
  return database.Run(
      "UPDATE jobs SET event_due_s = 0 WHERE sequence = ?1 AND finished_s = ?2",
      {ended.sequence, ended.finished_s});
}

}  // namespace tangram
