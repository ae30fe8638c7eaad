#ifndef TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_
#define TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// A connection to an SQLite file; made if there is none, with a write-ahead
// log, so that what was committed survives the process. One process at a time:
// kUnavailable while another has it open.
absl::StatusOr<std::unique_ptr<SqlDatabase>> OpenSqliteDatabase(
    const std::string& path);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_
