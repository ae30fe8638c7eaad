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

// Bytes, as opposed to text.
struct Blob {
  absl::string_view bytes;
};
using SqlValue = std::variant<int64_t, double, absl::string_view, Blob>;

// The row that a query has reached; valid while it is looked at.
class SqlRow {
 public:
  virtual ~SqlRow() = default;
  virtual int64_t Int(int column) const = 0;
  virtual double Double(int column) const = 0;
  virtual std::string String(int column) const = 0;  // Text or bytes.
};

// Where the SQL of databases differs.
struct SqlDialect {
  const char* sequence = "";  // A column that numbers the rows in order.
  const char* blob = "";      // The type of a column of bytes.
  // Behind a SELECT whose rows are to be changed: those that another connection
  // is changing are passed over.
  const char* skip_locked = "";
  // Excludes other connections that do the same until the transaction ends.
  const char* lock_schema = "SELECT 1";
  // Seconds since 1970 by the database's clock.
  const char* now = "";
  // Whether other processes may use the database at the same time.
  bool is_shared = false;
};

// A connection to a database. Errors: kResourceExhausted where its disk is
// full, kUnavailable where it cannot be reached, read, written or locked,
// kDataLoss where it is damaged, kInternal for the rest. Not thread-safe.
class SqlDatabase {
 public:
  virtual ~SqlDatabase() = default;

  virtual const SqlDialect& dialect() const = 0;

  // One statement, in which ?1, ?2 and so on stand for the values.
  virtual absl::Status Run(const std::string& sql,
                           absl::Span<const SqlValue> values,
                           absl::FunctionRef<void(const SqlRow&)> on_row) = 0;
  absl::Status Run(const std::string& sql,
                   absl::Span<const SqlValue> values = {}) {
    return Run(sql, values, [](const SqlRow&) {});
  }
  // Several, without values.
  virtual absl::Status RunScript(const std::string& sql) = 0;
  // All of `body` or, where it returns an error, nothing of it.
  virtual absl::Status Transact(absl::FunctionRef<absl::Status()> body) = 0;

  // Rows that the last statement changed.
  virtual int64_t num_changed() const = 0;

  // From here on, what was committed last may be lost with the machine (not
  // with the process).
  virtual absl::Status RelaxDurability() = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQL_DATABASE_H_
