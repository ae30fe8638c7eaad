#ifndef TANGRAM_COORDINATOR_STORE_CHANGE_JOB_H_
#define TANGRAM_COORDINATOR_STORE_CHANGE_JOB_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "coordinator/store/job_row.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/job_tables.h"
#include "coordinator/store/sql_database.h"

// Changes of single jobs, and those that callers of JobStore ask for by id.
namespace tangram {

absl::Status NoSuchJob(const std::string& id);

// How an attempt changes a row, beside the job.
struct LeaseChange {
  double until_s = 0;
  double not_before_s = 0;  // For a job that is put back.
  bool begins = false;      // An attempt begins.
};

// Changes the one job that `which` finds and locks, and seals its row, in one
// transaction, unless `change` returns false. A damaged job fails instead.
// Without `lease`, its lease stays. The webhook of a job that ends becomes due.
// Returns the job as it is now; null: there is none.
absl::StatusOr<std::optional<StoredJob>> ChangeJob(
    SqlDatabase& database, const std::string& which, const char* locks,
    absl::Span<const SqlValue> values, double now_s,
    absl::FunctionRef<bool(Job&)> change, OnDamage on_damage,
    std::optional<LeaseChange> lease = std::nullopt);

absl::StatusOr<Job> UpdateJob(SqlDatabase& database, const std::string& id,
                              const JobChanges& changes, double now_s,
                              OnDamage on_damage);
absl::StatusOr<Job> RetryJob(SqlDatabase& database, const std::string& id,
                             double timeout_s, double now_s,
                             OnDamage on_damage);
absl::Status DeleteEndedJob(SqlDatabase& database, const std::string& id);
absl::StatusOr<int> EndOverdueJobs(SqlDatabase& database, int limit,
                                   double now_s, OnDamage on_damage);

// Returns the deadline of a job; 0: none, as without a timeout. All deadlines
// are by the clock of the store.
double DeadlineAfter(double now_s, double timeout_s);
// The error of a job whose deadline has passed.
absl::Status OverdueError(const Job& job);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_CHANGE_JOB_H_
