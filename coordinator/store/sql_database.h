#ifndef TANGRAM_COORDINATOR_STORE_SQL_DATABASE_H_
#define TANGRAM_COORDINATOR_STORE_SQL_DATABASE_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tangram {

// A value of bytes, as opposed to text.
struct Blob {
  absl::string_view bytes;
};
using SqlValue = std::variant<int64_t, double, absl::string_view, Blob>;

// The row that a query has reached. Valid during the callback.
class SqlRow {
 public:
  virtual ~SqlRow() = default;
  virtual int64_t Int(int column) const = 0;
  virtual double Double(int column) const = 0;
  virtual std::string String(int column) const = 0;  // Text or bytes.
};

// Differences in the SQL of databases.
struct SqlDialect {
  // Type of a column that numbers the rows in order.
  const char* sequence = "";
  // Query of the last number that the rows of the table ?1 were given. Empty:
  // a changed row does not keep others from getting a number.
  const char* last_sequence = "";
  const char* blob = "";  // Type of a column of bytes.
  // Suffix of a SELECT of rows to change. Skips rows that another connection is
  // changing.
  const char* skip_locked = "";
  // Suffix of a SELECT of rows to change. Waits for other connections that are
  // changing them.
  const char* for_update = "";
  // Statement that excludes other connections that run it, until the
  // transaction ends.
  const char* lock_schema = "SELECT 1";
  // Expression for the seconds since 1970 by the database's clock.
  const char* now = "";
  // Whether every value has the type of its column, and text is UTF-8.
  bool has_types = false;
  // Whether other processes may use the database at the same time.
  bool is_shared = false;
};

// A connection to a database. Errors: kResourceExhausted if its disk is full;
// kUnavailable if it cannot be reached, read, written or locked; kDataLoss if
// it is damaged; kInternal otherwise. Not thread-safe.
class SqlDatabase {
 public:
  virtual ~SqlDatabase() = default;

  virtual const SqlDialect& dialect() const = 0;

  // Runs one statement. ?1, ?2 and so on stand for the values.
  virtual absl::Status Run(const std::string& sql,
                           absl::Span<const SqlValue> values,
                           absl::FunctionRef<void(const SqlRow&)> on_row) = 0;
  absl::Status Run(const std::string& sql,
                   absl::Span<const SqlValue> values = {}) {
    return Run(sql, values, [](const SqlRow&) {});
  }
  // Runs several statements, without values.
  virtual absl::Status RunScript(const std::string& sql) = 0;
  // Runs `body` in a transaction, which is undone if `body` returns an error.
  virtual absl::Status Transact(absl::FunctionRef<absl::Status()> body) = 0;

  // Returns the number of rows that the last statement changed.
  virtual int64_t num_changed() const = 0;

  // From now on, the last commits may be lost with the machine (not with the
  // process).
  virtual absl::Status RelaxDurability() = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQL_DATABASE_H_
