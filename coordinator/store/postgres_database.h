#ifndef TANGRAM_COORDINATOR_STORE_POSTGRES_DATABASE_H_
#define TANGRAM_COORDINATOR_STORE_POSTGRES_DATABASE_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// Opens a connection to PostgreSQL, which many processes may use at once.
// `connection` is what libpq takes: postgresql://... or "host=... dbname=...".
// Missing parts come from the environment (PGHOST, PGPASSWORD) and from
// ~/.pgpass.
//
// The next statement restores a lost connection, after a wait if the last
// attempt failed. A statement under way then returns kUnavailable and may or
// may not have run. So does one that took longer than `timeout`. Returns
// kInvalidArgument if `connection` cannot be parsed.
absl::StatusOr<std::unique_ptr<SqlDatabase>> OpenPostgresDatabase(
    const std::string& connection,
    std::chrono::milliseconds timeout = std::chrono::seconds(10));

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_POSTGRES_DATABASE_H_
