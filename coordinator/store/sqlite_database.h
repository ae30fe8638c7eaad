#ifndef TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_
#define TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// Opens an SQLite file and creates it if it does not exist. A write-ahead log
// lets commits survive the process. Only one process may open the file: returns
// kUnavailable while another has it open. Returns kDataLoss, now or from later
// calls, if the file is damaged or not a database. An empty file is damaged.
absl::StatusOr<std::unique_ptr<SqlDatabase>> OpenSqliteDatabase(
    const std::string& path);

// Reads every page of an SQLite database. Returns kDataLoss if they are
// inconsistent. Does not see damage inside a value.
absl::Status CheckSqliteStructure(SqlDatabase& database);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_
