#ifndef TANGRAM_COORDINATOR_STORE_SQLITE_ANSWER_STORE_H_
#define TANGRAM_COORDINATOR_STORE_SQLITE_ANSWER_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/dispatch/answer_store.h"

namespace tangram {

// Answers in an SQLite file of at most about `max_bytes`, the oldest of which
// go first. A thread writes them within milliseconds. Those of another
// `version` of the program are forgotten: its cost model may be another.
// Errors: those of SqliteDatabase::Open.
absl::StatusOr<std::unique_ptr<AnswerStore>> OpenSqliteAnswerStore(
    const std::string& path, int64_t max_bytes, const std::string& version);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQLITE_ANSWER_STORE_H_
