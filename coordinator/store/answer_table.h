#ifndef TANGRAM_COORDINATOR_STORE_ANSWER_TABLE_H_
#define TANGRAM_COORDINATOR_STORE_ANSWER_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/fingerprint.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// The table of serialised answers of one version of the parallelizers, and of
// others, in a database. Errors are the database's. Not thread-safe.
class AnswerTable {
 public:
  using Row = std::pair<Fingerprint, absl::string_view>;

  AnswerTable(std::unique_ptr<SqlDatabase> database, std::string version);

  // Before anything else.
  absl::Status Create();
  // Whether other machines use the database, and it may be away.
  bool is_shared() const { return database_->dialect().is_shared; }

  // Whether the database is there.
  absl::Status Ping();
  // Adds what there is of `keys`.
  absl::Status Find(absl::Span<const Fingerprint> keys,
                    std::map<Fingerprint, std::string>& found);
  // All or none; rows that are there stay as they are.
  absl::Status Insert(std::vector<Row> rows);
  // Drops the oldest tenth while there are more bytes, of all versions.
  absl::Status Trim(int64_t max_bytes);

 private:
  absl::Status FindChunk(absl::Span<const Fingerprint> keys,
                         std::map<Fingerprint, std::string>& found);
  absl::Status InsertChunk(absl::Span<const Row> chunk);

  const std::unique_ptr<SqlDatabase> database_;
  const std::string version_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_ANSWER_TABLE_H_
