#include "coordinator/store/sqlite_database.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Another process that is about to end may still hold the file.
constexpr int kBusyTimeoutMs = 2000;
// The header that every database begins with (section 1.3 of the file format).
constexpr uintmax_t kHeaderBytes = 100;
// SQLite's name of a database without a file.
constexpr char kInMemory[] = ":memory:";

absl::StatusCode CodeOf(int code) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    default:
      return absl::StatusCode::kInternal;
  }
}

struct Binder {
  sqlite3_stmt* statement;
  int index;

  int operator()(int64_t value) const {
    return sqlite3_bind_int64(statement, index, value);
  }
  int operator()(double value) const {
    return sqlite3_bind_double(statement, index, value);
  }
  // A null pointer would bind NULL.
  static const char* Data(absl::string_view bytes) {
    return bytes.empty() ? "" : bytes.data();
  }
  int operator()(absl::string_view text) const {
    return sqlite3_bind_text64(statement, index, Data(text), text.size(),
                               SQLITE_STATIC, SQLITE_UTF8);
  }
  int operator()(const Blob& blob) const {
    return sqlite3_bind_blob64(statement, index, Data(blob.bytes),
                               blob.bytes.size(), SQLITE_STATIC);
  }
};

class SqliteRow : public SqlRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

  int64_t Int(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }
  double Double(int column) const override {
    return sqlite3_column_double(statement_, column);
  }
  std::string String(int column) const override {
    const void* data = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return std::string(static_cast<const char*>(data),
                       data == nullptr ? 0 : size);
  }

 private:
  sqlite3_stmt* statement_;
};

constexpr SqlDialect kSqliteDialect = {
    .sequence = "INTEGER PRIMARY KEY AUTOINCREMENT",
    .last_sequence = "SELECT seq FROM sqlite_sequence WHERE name = ?1",
    .blob = "BLOB",
    .now = "(JULIANDAY('now') - 2440587.5) * 86400",
    .has_types = false,
    .is_shared = false};

// Keeps prepared statements.
class SqliteDatabase : public SqlDatabase {
 public:
  explicit SqliteDatabase(sqlite3* handle) : handle_(handle) {}
  ~SqliteDatabase() override {
    for (const auto& [sql, statement] : statements_) {
      sqlite3_finalize(statement);
    }
    sqlite3_close(handle_);
  }

  const SqlDialect& dialect() const override { return kSqliteDialect; }

  using SqlDatabase::Run;
  absl::Status Run(const std::string& sql, absl::Span<const SqlValue> values,
                   absl::FunctionRef<void(const SqlRow&)> on_row) override {
    TANGRAM_ASSIGN_OR_RETURN(sqlite3_stmt* const statement, Prepare(sql));
    int code = SQLITE_OK;
    for (size_t i = 0; i < values.size() && code == SQLITE_OK; ++i) {
      code = std::visit(Binder{statement, static_cast<int>(i) + 1}, values[i]);
    }
    if (code == SQLITE_OK) {
      while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        on_row(SqliteRow(statement));
      }
    }
    absl::Status status =
        code == SQLITE_DONE ? absl::OkStatus() : ErrorOf(code, sql);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return status;
  }

  absl::Status RunScript(const std::string& sql) override {
    const int code =
        sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? absl::OkStatus() : ErrorOf(code, sql);
  }

  absl::Status Transact(absl::FunctionRef<absl::Status()> body) override {
    TANGRAM_RETURN_IF_ERROR(Run("BEGIN IMMEDIATE"));
    absl::Status status = body();
    if (status.ok()) status = Run("COMMIT");
    if (!status.ok()) Run("ROLLBACK").IgnoreError();
    return status;
  }

  int64_t num_changed() const override { return sqlite3_changes64(handle_); }

  absl::Status RelaxDurability() override {
    // Moving the log into the file waits for the disk, so it is done rarely:
    // about every 40 MB.
    return RunScript(
        "PRAGMA synchronous = NORMAL;"
        "PRAGMA wal_autocheckpoint = 10000;"
        // Keys of different searches stand anywhere in the index: 32 MB of it
        // stay in memory.
        "PRAGMA cache_size = -32768;");
  }

  absl::Status ErrorOf(int code, const std::string& doing) const {
    return absl::Status(
        CodeOf(code),
        absl::StrCat("database: ", sqlite3_errmsg(handle_), " (", doing, ")"));
  }

 private:
  absl::StatusOr<sqlite3_stmt*> Prepare(const std::string& sql) {
    const auto [it, is_new] = statements_.try_emplace(sql, nullptr);
    if (!is_new) return it->second;
    const int code = sqlite3_prepare_v3(handle_, sql.c_str(), -1,
                                        SQLITE_PREPARE_PERSISTENT, &it->second,
                                        /*pzTail=*/nullptr);
    if (code == SQLITE_OK) return it->second;
    statements_.erase(it);
    return ErrorOf(code, sql);
  }

  sqlite3* handle_;
  std::map<std::string, sqlite3_stmt*> statements_;
};

// Returns whether the header of the file, not its permissions, forbids writing.
bool SaysReadOnly(sqlite3* handle, const std::string& path) {
  return sqlite3_db_readonly(handle, "main") == 1 &&
         access(path.c_str(), W_OK) == 0;
}

// SQLite takes an empty file, or one of a byte, for a new database. Nobody
// makes such a file on purpose: its content was cut off.
absl::Status CheckLength(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return absl::OkStatus();
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes >= kHeaderBytes) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("database: the file has ", bytes, " bytes; expected none, ",
                   "or one of at least ", kHeaderBytes, " bytes"));
}

// Makes the file of a new database, with its header, under another name first.
// A full disk, or the death of this process, so leaves no file without a
// header, which would look like one that was cut off.
absl::Status MakeFile(const std::string& path) {
  if (path == kInMemory || access(path.c_str(), F_OK) == 0) {
    return absl::OkStatus();
  }
  const std::string draft = path + ".new";
  absl::Status status;
  {
    sqlite3* handle = nullptr;
    const int code =
        sqlite3_open_v2(draft.c_str(), &handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    SqliteDatabase database(handle);
    sqlite3_busy_timeout(handle, kBusyTimeoutMs);
    // The mode stands in the header.
    status = code == SQLITE_OK ? database.RunScript("PRAGMA journal_mode = WAL")
                               : database.ErrorOf(code, path);
  }
  // Another process may have been quicker; its file stays.
  if (status.ok() && link(draft.c_str(), path.c_str()) != 0 &&
      errno != EEXIST && rename(draft.c_str(), path.c_str()) != 0) {
    status = absl::UnavailableError(absl::StrCat(
        "database: ", std::generic_category().message(errno), " (", path, ")"));
  }
  unlink(draft.c_str());
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqlDatabase>> OpenSqliteDatabase(
    const std::string& path) {
  TANGRAM_RETURN_IF_ERROR(CheckLength(path));
  TANGRAM_RETURN_IF_ERROR(MakeFile(path));
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  auto database = std::make_unique<SqliteDatabase>(handle);
  if (code != SQLITE_OK) return database->ErrorOf(code, path);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  const absl::Status status = database->RunScript(
      "PRAGMA locking_mode = EXCLUSIVE;"
      "PRAGMA journal_mode = WAL;"
      "PRAGMA synchronous = FULL;"
      // Takes the lock.
      "BEGIN EXCLUSIVE; COMMIT;");
  if (SaysReadOnly(handle, path)) {
    return absl::DataLossError(
        "database: the header of the file forbids writing");
  }
  TANGRAM_RETURN_IF_ERROR(status);
  return database;
}

absl::Status CheckSqliteStructure(SqlDatabase& database) {
  std::string found;
  TANGRAM_RETURN_IF_ERROR(
      database.Run("PRAGMA quick_check(1)", {},
                   [&](const SqlRow& row) { found = row.String(0); }));
  if (found == "ok") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("database: ", found));
}

}  // namespace tangram
