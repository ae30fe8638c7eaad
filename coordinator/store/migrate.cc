#include "coordinator/store/migrate.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Runs the missing steps. Sets `version` to the version found.
absl::Status RunSteps(SqlDatabase& database, const std::string& name,
                      absl::Span<const std::string> steps, int64_t& version) {
  TANGRAM_RETURN_IF_ERROR(database.Run(database.dialect().lock_schema));
  TANGRAM_RETURN_IF_ERROR(
      database.Run("CREATE TABLE IF NOT EXISTS tangram_schema ("
                   "name TEXT PRIMARY KEY, version BIGINT NOT NULL)"));
  version = 0;
  TANGRAM_RETURN_IF_ERROR(
      database.Run("SELECT version FROM tangram_schema WHERE name = ?1", {name},
                   [&](const SqlRow& row) { version = row.Int(0); }));
  const int64_t newest = static_cast<int64_t>(steps.size());
  if (version == newest) return absl::OkStatus();
  if (version < 0) {
    return absl::DataLossError(
        absl::StrCat("database: ", name, " has the format ", version));
  }
  if (version > newest) {
    return absl::FailedPreconditionError(
        absl::StrCat("database: ", name, " made by a later version (format ",
                     version, "; expected ", newest, ")"));
  }
  for (int64_t step = version; step < newest; ++step) {
    TANGRAM_RETURN_IF_ERROR(database.RunScript(steps[step]));
  }
  return database.Run(
      "INSERT INTO tangram_schema (name, version) VALUES (?1, ?2) "
      "ON CONFLICT (name) DO UPDATE SET version = ?2",
      {name, newest});
}

}  // namespace

absl::StatusOr<int64_t> Migrate(
    SqlDatabase& database, const std::string& name,
    absl::Span<const std::string> steps,
    absl::FunctionRef<absl::Status(int64_t)> after) {
  int64_t version = 0;
  const absl::Status status = database.Transact([&]() -> absl::Status {
    TANGRAM_RETURN_IF_ERROR(RunSteps(database, name, steps, version));
    return after(version);
  });
  TANGRAM_RETURN_IF_ERROR(status);
  return version;
}

absl::StatusOr<int64_t> Migrate(SqlDatabase& database, const std::string& name,
                                absl::Span<const std::string> steps) {
  return Migrate(database, name, steps,
                 [](int64_t) { return absl::OkStatus(); });
}

}  // namespace tangram
