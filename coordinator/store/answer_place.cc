#include "coordinator/store/answer_place.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "coordinator/store/postgres_database.h"
#include "coordinator/store/sqlite_database.h"

namespace tangram {
namespace {
// Damaged databases that are kept.

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

}  // namespace

AnswerPlace AnswersInFile(const std::string& path) {
  return {.open = [path] { return OpenSqliteDatabase(path); },
          .set_aside = [path] { return SetSqliteFileAside(path); }};
}

AnswerPlace AnswersInPostgres(const std::string& connection) {
  return {.open = [connection] { return OpenPostgresDatabase(connection); }};
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

}  // namespace tangram
