#ifndef TANGRAM_COORDINATOR_STORE_SQL_JOB_STORE_H_
#define TANGRAM_COORDINATOR_STORE_SQL_JOB_STORE_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "coordinator/store/job_store.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// Jobs in a database, whose tables are made if there are none. Leases that a
// database which nobody shares still holds have ended: their owners are gone.
// `now_s`: seconds since 1970; null: the database's clock, which is the same
// for all that share it. Errors: those of Migrate.
absl::StatusOr<std::unique_ptr<JobStore>> CreateSqlJobStore(
    std::unique_ptr<SqlDatabase> database,
    std::function<double()> now_s = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQL_JOB_STORE_H_
