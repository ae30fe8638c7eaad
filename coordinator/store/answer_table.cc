#include "coordinator/store/answer_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "coordinator/store/migrate.h"

namespace tangram {
namespace {

// Version 1: answers under a 64-bit fingerprint, without their questions.
constexpr char kFingerprints[] = R"(
  CREATE TABLE answers (
    sequence {sequence},
    version TEXT NOT NULL,
    key BIGINT NOT NULL,
    answer {blob} NOT NULL,
    UNIQUE (version, key));
)";
// Version 2 keeps the questions too. It drops the answers of version 1, which
// cannot be checked against theirs. `sequence` orders the rows by age.
constexpr char kQuestions[] = R"(
  DROP TABLE answers;
  CREATE TABLE answers (
    sequence {sequence},
    version TEXT NOT NULL,
    key {blob} NOT NULL,
    question {blob} NOT NULL,
    answer {blob} NOT NULL,
    checksum {blob} NOT NULL,
    UNIQUE (version, key));
)";
constexpr const char* kSteps[] = {kFingerprints, kQuestions};
// Fails if a table of the right name has other columns.
constexpr char kProbe[] =
    "SELECT sequence, version, key, question, answer, checksum FROM answers "
    "LIMIT 1";
// Numbers of rows per statement. There are few sizes, so that few statements
// are prepared.
constexpr size_t kChunks[] = {128, 64, 32, 16, 8, 4, 2, 1};

// Calls `handle` with consecutive parts of `all`, whose sizes are in kChunks.
template <typename T, typename Handle>
absl::Status InChunks(absl::Span<const T> all, const Handle& handle) {
  for (const size_t size : kChunks) {
    for (; all.size() >= size; all.remove_prefix(size)) {
      TANGRAM_RETURN_IF_ERROR(handle(all.first(size)));
    }
  }
  return absl::OkStatus();
}

// Returns the statement that finds the rows of a version under so many keys.
std::string FindSql(size_t num_keys) {
  std::string sql =
      "SELECT sequence, key, question, answer, checksum FROM answers "
      "WHERE version = ?1 AND key IN (";
  for (size_t i = 0; i < num_keys; ++i) {
    absl::StrAppend(&sql, i > 0 ? ", ?" : "?", 2 + i);
  }
  return sql + ")";
}

// Returns the statement that inserts so many rows of a version.
std::string InsertSql(size_t num_rows) {
  std::string sql =
      "INSERT INTO answers (version, key, question, answer, checksum) VALUES ";
  for (size_t i = 0; i < num_rows; ++i) {
    const size_t first = 2 + 4 * i;
    absl::StrAppend(&sql, i > 0 ? ", " : "", "(?1, ?", first, ", ?", first + 1,
                    ", ?", first + 2, ", ?", first + 3, ")");
  }
  return sql + " ON CONFLICT (version, key) DO NOTHING";
}

// Returns whether an error is transient: the database is in use, away or full.
bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

}  // namespace

AnswerTable::AnswerTable(AnswerPlace place, std::string version,
                         OnSetAside on_set_aside)
    : place_(std::move(place)),
      version_(std::move(version)),
      on_set_aside_(std::move(on_set_aside)) {}

absl::Status AnswerTable::Open() {
  absl::Status status = OpenOnce();
  if (status.ok() || !MaySetAside(status)) return status;
  TANGRAM_RETURN_IF_ERROR(SetAside(status));
  return OpenOnce();
}

absl::Status AnswerTable::Ping() {
  return Use([](SqlDatabase& database) { return database.Run("SELECT 1"); });
}

absl::Status AnswerTable::Find(absl::Span<const absl::string_view> keys,
                               std::vector<Row>& found) {
  return Use([&](SqlDatabase& database) {
    return InChunks(keys, [&](absl::Span<const absl::string_view> chunk) {
      return FindChunk(database, chunk, found);
    });
  });
}

absl::Status AnswerTable::Insert(std::vector<const StoredAnswer*> rows) {
  // Sorted, so that coordinators that write the same rows cannot deadlock.
  std::sort(rows.begin(), rows.end(),
            [](const auto* a, const auto* b) { return a->key < b->key; });
  return Use([&](SqlDatabase& database) {
    return database.Transact([&] {
      return InChunks(absl::MakeConstSpan(rows),
                      [&](absl::Span<const StoredAnswer* const> chunk) {
                        return InsertChunk(database, chunk);
                      });
    });
  });
}

absl::Status AnswerTable::Delete(int64_t sequence) {
  return Use([&](SqlDatabase& database) {
    return database.Run("DELETE FROM answers WHERE sequence = ?1", {sequence});
  });
}

absl::Status AnswerTable::Delete(absl::string_view key) {
  return Use([&](SqlDatabase& database) {
    return database.Run("DELETE FROM answers WHERE version = ?1 AND key = ?2",
                        {version_, Blob{key}});
  });
}

absl::StatusOr<int64_t> AnswerTable::DeleteAll() {
  int64_t num_deleted = 0;
  TANGRAM_RETURN_IF_ERROR(Use([&](SqlDatabase& database) {
    // SQLite counts the deleted rows only if there is a condition.
    absl::Status status = database.Run("DELETE FROM answers WHERE 1 = 1");
    num_deleted = database.num_changed();
    return status;
  }));
  return num_deleted;
}

absl::StatusOr<int64_t> AnswerTable::Trim(int64_t max_bytes) {
  int64_t bytes = 0;
  const absl::Status status = Use([&](SqlDatabase& database) {
    while (true) {
      TANGRAM_RETURN_IF_ERROR(database.Run(
          "SELECT CAST(COALESCE(SUM(LENGTH(question) + LENGTH(answer)), 0) "
          "AS BIGINT) FROM answers",
          {}, [&](const SqlRow& row) { bytes = row.Int(0); }));
      if (bytes <= max_bytes) return absl::OkStatus();
      TANGRAM_RETURN_IF_ERROR(database.Run(
          "DELETE FROM answers WHERE sequence <= (SELECT MIN(sequence) + "
          "(MAX(sequence) - MIN(sequence)) / 10 FROM answers)"));
      if (database.num_changed() == 0) return absl::OkStatus();
    }
  });
  if (!status.ok()) return status;
  return bytes;
}

absl::Status AnswerTable::OpenOnce() {
  TANGRAM_ASSIGN_OR_RETURN(auto database, place_.open());
  const SqlDialect& dialect = database->dialect();
  // A write that the operating system has survives the process. Answers lost
  // with the machine are asked again.
  TANGRAM_RETURN_IF_ERROR(database->RelaxDurability());
  std::vector<std::string> steps;
  static_assert(std::size(kSteps) == kAnswerFormat);
  for (const char* step : kSteps) {
    steps.push_back(absl::StrReplaceAll(
        step, {{"{sequence}", dialect.sequence}, {"{blob}", dialect.blob}}));
  }
  TANGRAM_ASSIGN_OR_RETURN(const int64_t found_version,
                           Migrate(*database, "answers", steps));
  has_dropped_old_format_ = found_version == 1;
  TANGRAM_RETURN_IF_ERROR(database->Run(kProbe));
  database_ = std::move(database);
  return absl::OkStatus();
}

// A server refuses for reasons of its own, which a new table would not remove.
bool AnswerTable::MaySetAside(const absl::Status& status) const {
  if (IsPassing(status)) return false;
  return !place_.is_shared || absl::IsDataLoss(status) ||
         absl::IsFailedPrecondition(status);
}

absl::Status AnswerTable::SetAside(const absl::Status& reason) {
  // Closed first: closing it later would touch the log of the new database.
  database_ = nullptr;
  TANGRAM_ASSIGN_OR_RETURN(const std::string path, place_.set_aside());
  on_set_aside_(path, reason);
  return absl::OkStatus();
}

absl::Status AnswerTable::Use(
    absl::FunctionRef<absl::Status(SqlDatabase&)> use) {
  if (database_ == nullptr) TANGRAM_RETURN_IF_ERROR(Open());
  absl::Status status = use(*database_);
  if (!absl::IsDataLoss(status)) return status;
  TANGRAM_RETURN_IF_ERROR(SetAside(status));
  TANGRAM_RETURN_IF_ERROR(OpenOnce());
  return use(*database_);
}

absl::Status AnswerTable::FindChunk(SqlDatabase& database,
                                    absl::Span<const absl::string_view> keys,
                                    std::vector<Row>& found) {
  std::vector<SqlValue> values = {version_};
  values.reserve(1 + keys.size());
  for (const absl::string_view key : keys) values.push_back(Blob{key});
  std::string& sql = find_sql_[keys.size()];
  if (sql.empty()) sql = FindSql(keys.size());
  return database.Run(sql, values, [&](const SqlRow& row) {
    found.push_back({.sequence = row.Int(0),
                     .stored = {.key = row.String(1),
                                .question = row.String(2),
                                .answer = row.String(3),
                                .checksum = row.String(4)}});
  });
}

absl::Status AnswerTable::InsertChunk(
    SqlDatabase& database, absl::Span<const StoredAnswer* const> chunk) {
  std::vector<SqlValue> values = {version_};
  values.reserve(1 + 4 * chunk.size());
  for (const StoredAnswer* row : chunk) {
    for (const std::string* column :
         {&row->key, &row->question, &row->answer, &row->checksum}) {
      values.push_back(Blob{*column});
    }
  }
  std::string& sql = insert_sql_[chunk.size()];
  if (sql.empty()) sql = InsertSql(chunk.size());
  return database.Run(sql, values);
}

}  // namespace tangram
