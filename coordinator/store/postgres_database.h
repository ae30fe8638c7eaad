#ifndef TANGRAM_COORDINATOR_STORE_POSTGRES_DATABASE_H_
#define TANGRAM_COORDINATOR_STORE_POSTGRES_DATABASE_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// A connection to PostgreSQL, which many processes may use at once.
// `connection` is what libpq takes: postgresql://... or "host=... dbname=...";
// what it leaves out comes from the environment (PGHOST, PGPASSWORD) and from
// ~/.pgpass. A connection that is lost is made again with the next statement,
// after a wait where that failed; a statement that was under way is
// kUnavailable and may have been run or not, and so is one that took longer
// than `timeout`. kInvalidArgument for what is no connection string.
absl::StatusOr<std::unique_ptr<SqlDatabase>> OpenPostgresDatabase(
    const std::string& connection,
    std::chrono::milliseconds timeout = std::chrono::seconds(10));

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_POSTGRES_DATABASE_H_
