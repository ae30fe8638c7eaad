#ifndef TANGRAM_COORDINATOR_STORE_ANSWER_PLACE_H_
#define TANGRAM_COORDINATOR_STORE_ANSWER_PLACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// A database that holds answers, and what to do when it is damaged.
struct AnswerPlace {
  // Opens the database and creates it if it does not exist. Errors are those of
  // SqlDatabase.
  std::function<absl::StatusOr<std::unique_ptr<SqlDatabase>>()> open;
  // Moves the closed database out of the way, so that `open` creates a new one.
  // Returns the new path, or the new name of the table.
  std::function<absl::StatusOr<std::string>()> set_aside;
  // Whether other machines use the database too, so that it may be away.
  bool is_shared = false;
};

// The version of the table of answers.
inline constexpr int64_t kAnswerFormat = 2;

// Returns the place of an SQLite file. A folder, a device or a file that cannot
// be written counts as a damaged file.
AnswerPlace AnswersInFile(const std::string& path);
// Returns the place of a PostgreSQL database. `connection` is as for
// OpenPostgresDatabase.
AnswerPlace AnswersInPostgres(const std::string& connection);

// Renames an SQLite file and its log to PATH.damaged-1, or to -2 or -3 if such
// files exist. A fourth replaces the third: the first damage tells most, and
// the disk must not fill up. Returns the new path.
absl::StatusOr<std::string> SetSqliteFileAside(const std::string& path);

// Renames the table of answers in a PostgreSQL database to answers_damaged_1,
// or to _2 or _3 in the same way. Changes nothing if its version is one that
// this program uses, because another process has set it aside already. Returns
// the new name.
absl::StatusOr<std::string> SetPostgresTableAside(
    const std::string& connection);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_ANSWER_PLACE_H_
