#ifndef TANGRAM_COORDINATOR_STORE_ANSWER_TABLE_H_
#define TANGRAM_COORDINATOR_STORE_ANSWER_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "coordinator/store/answer_place.h"
#include "coordinator/store/sql_database.h"
#include "coordinator/store/stored_answer.h"

namespace tangram {

// The table of answers in a database. Finds and deletes by key only rows of its
// own version of the program. Errors are those of the database. If the database
// turns out to be damaged (kDataLoss), it is set aside and the call goes to a
// new one. If that fails, the next call tries to open it again. Not
// thread-safe.
class AnswerTable {
 public:
  // Called with the path of a database that was set aside.
  using OnSetAside =
      std::function<void(const std::string& path, const absl::Status& reason)>;

  AnswerTable(AnswerPlace place, std::string version, OnSetAside on_set_aside);

  // Must be called first. Treats a file as damaged if it exists but cannot be
  // used: it has no schema, or that of another program or of a later version.
  // Treats a table of a server as damaged if it is of a later version.
  absl::Status Open();
  // Returns whether Open dropped answers of an earlier format, which cannot be
  // checked.
  bool has_dropped_old_format() const { return has_dropped_old_format_; }

  // Returns OK if the database can be reached.
  absl::Status Ping();

  struct Row {
    int64_t sequence = 0;
    StoredAnswer stored;
  };
  // Appends the rows under these keys to `found`, in any order. Verifies
  // nothing.
  absl::Status Find(absl::Span<const absl::string_view> keys,
                    std::vector<Row>& found);
  // Inserts all rows or none. Rows whose key exists stay as they are.
  absl::Status Insert(std::vector<const StoredAnswer*> rows);
  absl::Status Delete(int64_t sequence);
  absl::Status Delete(absl::string_view key);
  // Deletes the rows of all versions. Returns their number.
  absl::StatusOr<int64_t> DeleteAll();
  // Deletes the oldest tenth of the rows, of all versions, until questions and
  // answers take at most `max_bytes`. Returns what they take. O(rows).
  absl::StatusOr<int64_t> Trim(int64_t max_bytes);

 private:
  absl::Status OpenOnce();
  bool MaySetAside(const absl::Status& status) const;
  absl::Status SetAside(const absl::Status& reason);
  // Calls `use` with an open database. If it proves damaged, calls `use` once
  // more with a new one.
  absl::Status Use(absl::FunctionRef<absl::Status(SqlDatabase&)> use);
  absl::Status FindChunk(SqlDatabase& database,
                         absl::Span<const absl::string_view> keys,
                         std::vector<Row>& found);
  absl::Status InsertChunk(SqlDatabase& database,
                           absl::Span<const StoredAnswer* const> chunk);

  const AnswerPlace place_;
  const std::string version_;
  const OnSetAside on_set_aside_;
  std::unique_ptr<SqlDatabase> database_;  // Null if it could not be opened.
  bool has_dropped_old_format_ = false;
  // Statements by their numbers of rows.
  std::map<size_t, std::string> find_sql_;
  std::map<size_t, std::string> insert_sql_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_ANSWER_TABLE_H_
