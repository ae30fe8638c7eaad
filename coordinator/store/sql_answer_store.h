#ifndef TANGRAM_COORDINATOR_STORE_SQL_ANSWER_STORE_H_
#define TANGRAM_COORDINATOR_STORE_SQL_ANSWER_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/dispatch/answer_store.h"
#include "coordinator/store/sql_database.h"

namespace tangram {

// Answers in a database, at most about `max_bytes`, the oldest of which go
// first. Whoever inserts writes them, or a thread all that have gathered while
// another one wrote, the last write was slow or the database could not be
// written. While a database is away nothing is found. Answers of another
// `version` of the program are not found: its cost model may be another.
// Errors: those of Migrate.
absl::StatusOr<std::unique_ptr<AnswerStore>> CreateSqlAnswerStore(
    std::unique_ptr<SqlDatabase> database, int64_t max_bytes,
    const std::string& version);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQL_ANSWER_STORE_H_
