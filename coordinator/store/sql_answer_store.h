#ifndef TANGRAM_COORDINATOR_STORE_SQL_ANSWER_STORE_H_
#define TANGRAM_COORDINATOR_STORE_SQL_ANSWER_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/dispatch/answer_store.h"
#include "coordinator/store/answer_place.h"

namespace tangram {

// Told what happens to stored answers, for metrics. Called from any thread;
// must be short.
class AnswerStoreObserver {
 public:
  virtual ~AnswerStoreObserver() = default;
  // `reason` is one of kDropReasons.
  virtual void OnDropped(absl::string_view reason) = 0;
  // A damaged database was.
  virtual void OnSetAside() = 0;
};

struct AnswerStoreOptions {
  // Of questions and answers, about; the oldest go first.
  int64_t max_bytes = int64_t{1} << 30;
  // Answers of another version of the program are not found: its cost model may
  // be another.
  std::string version;
  AnswerStoreObserver* observer = nullptr;  // May be null.
};

// Answers in a database. Whoever inserts writes them, or a thread all that have
// gathered while another one wrote, the last write was slow or the database
// could not be written. While a database is away nothing is found. Rows that
// are not as they were written are deleted, and a damaged database is set aside
// where `place` can, now and later: the store goes on with a new one.
// Errors: those of SqlDatabase and Migrate.
absl::StatusOr<std::unique_ptr<AnswerStore>> CreateSqlAnswerStore(
    AnswerPlace place, const AnswerStoreOptions& options);

// Deletes the answers of all versions and tenants; returns their number. Other
// processes may use a shared database meanwhile.
absl::StatusOr<int64_t> PurgeAnswers(AnswerPlace place,
                                     const AnswerStoreOptions& options);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQL_ANSWER_STORE_H_
