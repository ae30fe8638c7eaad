#ifndef TANGRAM_COORDINATOR_STORE_SQL_JOB_STORE_H_
#define TANGRAM_COORDINATOR_STORE_SQL_JOB_STORE_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// Creates a store of jobs in a database, and its tables if they do not exist.
// If nobody shares the database, ends the leases in it, because their owners
// are gone. `now_s` returns seconds since 1970. If it is null, the database's
// clock is used, which is the same for all that share it. Errors are those of
// Migrate.
absl::StatusOr<std::unique_ptr<JobStore>> CreateSqlJobStore(
    std::unique_ptr<SqlDatabase> database,
    std::function<double()> now_s = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQL_JOB_STORE_H_
