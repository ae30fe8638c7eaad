#ifndef TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_
#define TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// A connection to an SQLite file; made if there is none, with a write-ahead
// log, so that what was committed survives the process. One process at a time:
// kUnavailable while another has it open. kDataLoss, then or later, if the file
// is damaged or no database.
absl::StatusOr<std::unique_ptr<SqlDatabase>> OpenSqliteDatabase(
    const std::string& path);

// Reads every page of an SQLite database. kDataLoss if they do not fit
// together; damage inside of a value is not seen.
absl::Status CheckSqliteStructure(SqlDatabase& database);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_
