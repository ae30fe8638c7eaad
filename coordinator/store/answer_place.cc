#include "coordinator/store/answer_place.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "coordinator/store/postgres_database.h"
#include "coordinator/store/sqlite_database.h"

namespace tangram {
namespace {

// Damaged databases that are kept: enough to see that a fault repeats. Each may
// be as large as the database.
constexpr int kMostSetAside = 3;
// Suffixes of the file itself, its write-ahead log and the index of the log.
constexpr const char* kSuffixes[] = {"", "-wal", "-shm"};

std::string FreePath(const std::string& path) {
  for (int number = 1;; ++number) {
    std::string aside = absl::StrCat(path, ".damaged-", number);
    std::error_code ignored;
    if (number == kMostSetAside || !std::filesystem::exists(aside, ignored)) {
      return aside;
    }
  }
}

// Returns the first of the names whose table does not exist, or the last.
absl::StatusOr<std::string> FreeTable(SqlDatabase& database) {
  for (int number = 1;; ++number) {
    std::string aside = absl::StrCat("answers_damaged_", number);
    bool exists = false;
    TANGRAM_RETURN_IF_ERROR(
        database.Run("SELECT COUNT(to_regclass(?1))", {aside},
                     [&](const SqlRow& row) { exists = row.Int(0) > 0; }));
    if (number == kMostSetAside || !exists) return aside;
  }
}

absl::Status RenameTable(SqlDatabase& database, std::string& aside) {
  TANGRAM_RETURN_IF_ERROR(database.Run(database.dialect().lock_schema));
  bool is_ours = true;
  TANGRAM_RETURN_IF_ERROR(
      database.Run("SELECT version FROM tangram_schema WHERE name = 'answers'",
                   {}, [&](const SqlRow& row) {
                     is_ours = row.Int(0) >= 0 && row.Int(0) <= kAnswerFormat;
                   }));
  TANGRAM_ASSIGN_OR_RETURN(aside, FreeTable(database));
  if (is_ours) return absl::OkStatus();
  return database.RunScript(
      absl::StrCat("DROP TABLE IF EXISTS ", aside,
                   "; ALTER TABLE IF EXISTS answers RENAME TO ", aside,
                   "; DELETE FROM tangram_schema WHERE name = 'answers'"));
}

// Answers can be asked again, so whatever cannot hold them is in the way, a
// folder or a file that only others may write, and counts as damaged.
absl::Status CheckWritableFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status found =
      std::filesystem::status(path, error);
  if (!std::filesystem::exists(found)) return absl::OkStatus();
  if (!std::filesystem::is_regular_file(found)) {
    return absl::DataLossError("database: a folder or device; expected a file");
  }
  if (access(path.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::DataLossError("database: the file cannot be written");
}

absl::StatusOr<std::unique_ptr<SqlDatabase>> OpenAnswerFile(
    const std::string& path) {
  TANGRAM_RETURN_IF_ERROR(CheckWritableFile(path));
  return OpenSqliteDatabase(path);
}

}  // namespace

AnswerPlace AnswersInFile(const std::string& path) {
  return {.open = [path] { return OpenAnswerFile(path); },
          .set_aside = [path] { return SetSqliteFileAside(path); }};
}

AnswerPlace AnswersInPostgres(const std::string& connection) {
  return {
      .open = [connection] { return OpenPostgresDatabase(connection); },
      .set_aside = [connection] { return SetPostgresTableAside(connection); },
      .is_shared = true};
}

absl::StatusOr<std::string> SetSqliteFileAside(const std::string& path) {
  const std::string aside = FreePath(path);
  for (const char* suffix : kSuffixes) {
    const std::string from = absl::StrCat(path, suffix);
    const std::string to = absl::StrCat(aside, suffix);
    std::error_code error;
    // A log left from an earlier database must not be taken for the new one's.
    std::filesystem::remove(to, error);
    if (!std::filesystem::exists(from, error)) continue;
    std::filesystem::rename(from, to, error);
    if (error) {
      return absl::UnavailableError(
          absl::StrCat(from, ": cannot be renamed: ", error.message()));
    }
  }
  return aside;
}

absl::StatusOr<std::string> SetPostgresTableAside(
    const std::string& connection) {
  TANGRAM_ASSIGN_OR_RETURN(const auto database,
                           OpenPostgresDatabase(connection));
  std::string aside;
  TANGRAM_RETURN_IF_ERROR(
      database->Transact([&] { return RenameTable(*database, aside); }));
  return aside;
}

}  // namespace tangram
