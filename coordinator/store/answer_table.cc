#include "coordinator/store/answer_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "coordinator/store/migrate.h"

namespace tangram {
namespace {

constexpr char kTables[] = R"(
  CREATE TABLE answers (
    sequence {sequence},
    version TEXT NOT NULL,
    key BIGINT NOT NULL,
    answer {blob} NOT NULL,
    UNIQUE (version, key));
)";
// Rows of one statement: few sizes, so that few statements are prepared.
constexpr size_t kChunks[] = {128, 16, 1};

// Calls `handle` with parts of `all`.
template <typename T, typename Handle>
absl::Status InChunks(absl::Span<const T> all, const Handle& handle) {
  for (const size_t size : kChunks) {
    for (; all.size() >= size; all.remove_prefix(size)) {
      TANGRAM_RETURN_IF_ERROR(handle(all.first(size)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

AnswerTable::AnswerTable(std::unique_ptr<SqlDatabase> database,
                         std::string version)
    : database_(std::move(database)), version_(std::move(version)) {}

absl::Status AnswerTable::Create() {
  // What the system has outlives the process; answers that are lost with the
  // machine are asked again.
  TANGRAM_RETURN_IF_ERROR(database_->RelaxDurability());
  const SqlDialect& dialect = database_->dialect();
  const std::string tables = absl::StrReplaceAll(
      kTables, {{"{sequence}", dialect.sequence}, {"{blob}", dialect.blob}});
  return Migrate(*database_, "answers", {&tables, 1});
}

absl::Status AnswerTable::Ping() { return database_->Run("SELECT 1"); }

absl::Status AnswerTable::Find(absl::Span<const Fingerprint> keys,
                               std::map<Fingerprint, std::string>& found) {
  return InChunks(keys, [&](absl::Span<const Fingerprint> chunk) {
    return FindChunk(chunk, found);
  });
}

absl::Status AnswerTable::Insert(std::vector<Row> rows) {
  // So that coordinators that write the same do not wait for each other in a
  // circle.
  std::sort(rows.begin(), rows.end());
  return database_->Transact([&] {
    return InChunks(
        absl::MakeConstSpan(rows),
        [&](absl::Span<const Row> chunk) { return InsertChunk(chunk); });
  });
}

absl::Status AnswerTable::Trim(int64_t max_bytes) {
  while (true) {
    int64_t bytes = 0;
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "SELECT CAST(COALESCE(SUM(LENGTH(answer)), 0) AS BIGINT) FROM answers",
        {}, [&](const SqlRow& row) { bytes = row.Int(0); }));
    if (bytes <= max_bytes) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(database_->Run(
        "DELETE FROM answers WHERE sequence <= (SELECT MIN(sequence) + "
        "(MAX(sequence) - MIN(sequence)) / 10 FROM answers)"));
    if (database_->num_changed() == 0) return absl::OkStatus();
  }
}

absl::Status AnswerTable::FindChunk(absl::Span<const Fingerprint> keys,
                                    std::map<Fingerprint, std::string>& found) {
  std::string sql =
      "SELECT key, answer FROM answers WHERE version = ?1 AND key IN (";
  std::vector<SqlValue> values = {version_};
  for (const Fingerprint key : keys) {
    values.push_back(static_cast<int64_t>(key));
    absl::StrAppend(&sql, values.size() > 2 ? ", ?" : "?", values.size());
  }
  sql += ")";
  return database_->Run(sql, values, [&](const SqlRow& row) {
    found[static_cast<Fingerprint>(row.Int(0))] = row.String(1);
  });
}

absl::Status AnswerTable::InsertChunk(absl::Span<const Row> chunk) {
  std::string sql = "INSERT INTO answers (version, key, answer) VALUES ";
  std::vector<SqlValue> values = {version_};
  for (const auto& [key, bytes] : chunk) {
    values.push_back(static_cast<int64_t>(key));
    values.push_back(Blob{bytes});
    absl::StrAppend(&sql, values.size() > 3 ? ", " : "", "(?1, ?",
                    values.size() - 1, ", ?", values.size(), ")");
  }
  sql += " ON CONFLICT (version, key) DO NOTHING";
  return database_->Run(sql, values);
}

}  // namespace tangram
