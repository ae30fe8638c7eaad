#ifndef TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_
#define TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tangram {

// Bytes, as opposed to text.
struct Blob {
  absl::string_view bytes;
};
using SqlValue = std::variant<int64_t, double, absl::string_view, Blob>;

// The row that a query has reached; valid while it is looked at.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  int64_t Int(int column) const;
  double Double(int column) const;
  std::string String(int column) const;  // Text or bytes.

 private:
  sqlite3_stmt* statement_;
};

// A connection to an SQLite file. Statements are kept once prepared. Errors:
// kResourceExhausted where the disk is full, kUnavailable where the file cannot
// be read, written or locked, kInternal for the rest. Not thread-safe.
class SqliteDatabase {
 public:
  // Makes the file if there is none, with a write-ahead log, so that what was
  // committed survives the process. One process at a time: kUnavailable while
  // another has it open.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path);

  ~SqliteDatabase();

  // One statement.
  absl::Status Run(
      const char* sql, absl::Span<const SqlValue> values = {},
      absl::FunctionRef<void(const SqlRow&)> on_row = [](const SqlRow&) {});
  // Several, without values.
  absl::Status RunScript(const char* sql);
  // All of `body` or, where it returns an error, nothing of it.
  absl::Status Transact(absl::FunctionRef<absl::Status()> body);

  // Rows that the last statement changed.
  int64_t num_changed() const;

 private:
  explicit SqliteDatabase(sqlite3* handle) : handle_(handle) {}
  absl::Status ErrorOf(int code, const char* doing) const;
  absl::StatusOr<sqlite3_stmt*> Prepare(const char* sql);

  sqlite3* handle_;
  std::map<std::string, sqlite3_stmt*> statements_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQLITE_DATABASE_H_
