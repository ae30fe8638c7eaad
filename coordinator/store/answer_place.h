#ifndef TANGRAM_COORDINATOR_STORE_ANSWER_PLACE_H_
#define TANGRAM_COORDINATOR_STORE_ANSWER_PLACE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// The database that holds answers, and what to do when it is damaged.
struct AnswerPlace {
  // Opens it; made if there is none. Errors are those of SqlDatabase.
  std::function<absl::StatusOr<std::unique_ptr<SqlDatabase>>()> open;
  // Moves the database, which is closed, out of the way, so that `open` makes a
  // new one. Returns where it is now. Null: the database is a server's, which
  // looks after its files.
  std::function<absl::StatusOr<std::string>()> set_aside;
};

// An SQLite file.
AnswerPlace AnswersInFile(const std::string& path);
// A PostgreSQL database; `connection` as OpenPostgresDatabase takes it.
AnswerPlace AnswersInPostgres(const std::string& connection);

// Renames an SQLite file and its log to PATH.damaged-1, or -2 or -3 if there
// are such files. A fourth replaces the third: the first damage tells most, and
// the disk is not filled. Returns the new path.
absl::StatusOr<std::string> SetSqliteFileAside(const std::string& path);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_ANSWER_PLACE_H_
