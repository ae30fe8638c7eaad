#include "coordinator/store/read_job_list.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "coordinator/store/job_row.h"

namespace tangram {
namespace {

using Key = JobOrder::Key;

// The column of an order, as a number unless it is the id.
const char* ColumnOf(Key key) {
  switch (key) {
    case Key::kSubmitted:
      return "submitted_s";
    case Key::kStarted:
      return "started_s";
    case Key::kFinished:
      return "finished_s";
    case Key::kPriority:
      return "CAST(priority AS DOUBLE PRECISION)";
    case Key::kId:
      return "id";
  }
  return "submitted_s";
}

// The columns that order jobs, without two jobs that are equal in all.
std::vector<std::string> ColumnsOf(Key key) {
  if (key == Key::kId) return {"id"};
  if (key == Key::kSubmitted) return {"submitted_s", "sequence"};
  return {ColumnOf(key), "submitted_s", "sequence"};
}

// Returns the number of a job. If it is gone, returns one that leaves out those
// of its very time.
absl::StatusOr<int64_t> PlaceOf(SqlDatabase& database, const std::string& id,
                                bool descending) {
  int64_t sequence = descending ? 0 : std::numeric_limits<int64_t>::max();
  TANGRAM_RETURN_IF_ERROR(
      database.Run("SELECT sequence FROM jobs WHERE id = ?1", {id},
                   [&](const SqlRow& row) { sequence = row.Int(0); }));
  return sequence;
}

// A statement with its values.
struct ListStatement {
  std::string conditions;
  std::vector<SqlValue> values;

  std::string Add(SqlValue value) {  // Returns its name.
    values.push_back(value);
    return absl::StrCat("?", values.size());
  }
  void And(absl::string_view condition) {
    absl::StrAppend(&conditions, conditions.empty() ? " WHERE " : " AND ",
                    condition);
  }
};

void AddCursor(const JobOrder& order, const JobCursor& after, int64_t sequence,
               ListStatement& query) {
  std::vector<std::string> bounds;
  if (order.key == Key::kId) {
    bounds = {query.Add(absl::string_view(after.id))};
  } else {
    if (order.key != Key::kSubmitted) bounds.push_back(query.Add(after.key));
    bounds.push_back(query.Add(after.submitted_s));
    bounds.push_back(query.Add(sequence));
  }
  query.And(absl::StrCat("(", absl::StrJoin(ColumnsOf(order.key), ", "), ")",
                         order.descending ? " < (" : " > (",
                         absl::StrJoin(bounds, ", "), ")"));
}

}  // namespace

JobCursor CursorAt(const Job& job, const JobOrder& order) {
  JobCursor cursor{.id = job.id, .submitted_s = job.submitted_s};
  switch (order.key) {
    case Key::kSubmitted:
    case Key::kId:
      break;
    case Key::kStarted:
      cursor.key = job.started_s;
      break;
    case Key::kFinished:
      cursor.key = job.finished_s;
      break;
    case Key::kPriority:
      cursor.key = job.priority;
      break;
  }
  return cursor;
}

absl::StatusOr<std::vector<Job>> ReadJobList(SqlDatabase& database,
                                             const JobFilter& filter) {
  const JobOrder& order = filter.order;
  ListStatement query;
  if (filter.after.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(
        const int64_t sequence,
        PlaceOf(database, filter.after->id, order.descending));
    AddCursor(order, *filter.after, sequence, query);
  }
  if (!filter.states.empty()) {
    int64_t wanted = 0;  // One bit for each state.
    for (const JobState state : filter.states) {
      wanted |= int64_t{1} << static_cast<int64_t>(state);
    }
    query.And(absl::StrCat("((", query.Add(wanted),
                           " >> CASE WHEN state BETWEEN 0 AND 4 THEN "
                           "CAST(state AS INTEGER) ELSE 3 END) & 1) = 1"));
  }
  if (!filter.tenant.empty()) {
    query.And(absl::StrCat("share_key = ",
                           query.Add(absl::string_view(filter.tenant))));
  }
  const std::string direction = order.descending ? " DESC" : "";
  const std::string limit = query.Add(int64_t{filter.limit});
  std::vector<Job> jobs;
  TANGRAM_RETURN_IF_ERROR(database.Run(
      absl::StrCat("SELECT " TANGRAM_JOB_COLUMNS " FROM jobs", query.conditions,
                   " ORDER BY ",
                   absl::StrJoin(ColumnsOf(order.key), direction + ", "),
                   direction, " LIMIT ", limit),
      query.values,
      [&](const SqlRow& row) { jobs.push_back(JobOf(row).job); }));
  return jobs;
}

absl::StatusOr<TenantUsage> ReadTenantUsage(SqlDatabase& database,
                                            const std::string& tenant) {
  TenantUsage usage;
  TANGRAM_RETURN_IF_ERROR(database.Run(
      "SELECT COALESCE(SUM(CASE WHEN state < 2 THEN 1 ELSE 0 END), 0), "
      "COUNT(*), CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM jobs "
      "WHERE share_key = ?1",
      {tenant}, [&](const SqlRow& row) {
        usage.unfinished_jobs = static_cast<int>(row.Int(0));
        usage.ended_jobs = static_cast<int>(row.Int(1)) - usage.unfinished_jobs;
        usage.bytes = row.Int(2);
      }));
  return usage;
}

}  // namespace tangram
