#ifndef TANGRAM_COORDINATOR_STORE_JOB_TABLES_H_
#define TANGRAM_COORDINATOR_STORE_JOB_TABLES_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// Creates the tables of jobs, or brings them to the newest format and seals
// their rows. Returns kDataLoss if they are not tables of jobs.
absl::Status PrepareJobTables(SqlDatabase& database);

// Hears of damaged jobs.
using OnDamage = absl::FunctionRef<void(const Job&)>;

// Ends a job now if its row is damaged.
absl::Status EndIfDamaged(SqlDatabase& database, int64_t sequence, double now_s,
                          OnDamage on_damage);
// Does so with all rows that a statement may not find: those of jobs that have
// not ended, and those with values of other types than their columns, which
// SQLite takes. A sound row of the latter is written again.
absl::Status RepairJobs(SqlDatabase& database, double now_s,
                        OnDamage on_damage);

// Writes all columns of a row but those of its lease and its events, and its
// seals.
absl::Status WriteJob(SqlDatabase& database, int64_t sequence, const Job& job);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_JOB_TABLES_H_
