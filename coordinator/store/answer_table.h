#ifndef TANGRAM_COORDINATOR_STORE_ANSWER_TABLE_H_
#define TANGRAM_COORDINATOR_STORE_ANSWER_TABLE_H_

#include <cstdint>
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

// The table of answers of one version of the program, and of others, in a
// database. Errors are the database's. A database that turns out to be damaged
// (kDataLoss) is set aside, and the call goes to a new one; after an error of
// that, the next call opens it again. Not thread-safe.
class AnswerTable {
 public:
  // Called with the path of a database that was set aside.
  using OnSetAside =
      std::function<void(const std::string& path, const absl::Status& reason)>;

  AnswerTable(AnswerPlace place, std::string version, OnSetAside on_set_aside);

  // Before anything else. A database that is there, but cannot be used, is
  // damaged: no schema, one of another program, or of a later version.
  absl::Status Open();
  // Whether other machines use the database, and it may be away.
  bool is_shared() const { return is_shared_; }
  // Whether Open dropped answers of an earlier format, which cannot be checked.
  bool has_dropped_old_format() const { return has_dropped_old_format_; }

  // Whether the database is there.
  absl::Status Ping();

  struct Row {
    int64_t sequence = 0;
    StoredAnswer stored;
  };
  // Rows under these keys, in any order. Nothing of them is verified.
  absl::Status Find(absl::Span<const absl::string_view> keys,
                    std::vector<Row>& found);
  // All or none; rows that are there stay as they are.
  absl::Status Insert(std::vector<const StoredAnswer*> rows);
  absl::Status Delete(int64_t sequence);
  absl::Status Delete(absl::string_view key);
  // Deletes the rows of all versions; returns their number.
  absl::StatusOr<int64_t> DeleteAll();
  // Drops the oldest tenth while there are more bytes, of all versions.
  absl::Status Trim(int64_t max_bytes);

 private:
  absl::Status OpenOnce();
  absl::Status SetAside(const absl::Status& reason);
  // Calls `use` with an open database, and once more after a new one was made.
  absl::Status Use(absl::FunctionRef<absl::Status(SqlDatabase&)> use);
  absl::Status FindChunk(SqlDatabase& database,
                         absl::Span<const absl::string_view> keys,
                         std::vector<Row>& found) const;
  absl::Status InsertChunk(SqlDatabase& database,
                           absl::Span<const StoredAnswer* const> chunk) const;

  const AnswerPlace place_;
  const std::string version_;
  const OnSetAside on_set_aside_;
  std::unique_ptr<SqlDatabase> database_;  // Null: could not be opened.
  bool is_shared_ = false;
  bool has_dropped_old_format_ = false;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_ANSWER_TABLE_H_
