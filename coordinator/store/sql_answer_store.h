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

// Is told what happens to stored answers, for metrics. Called from any thread;
// must return quickly.
class AnswerStoreObserver {
 public:
  virtual ~AnswerStoreObserver() = default;
  // A stored answer was dropped. `reason` is one of kDropReasons.
  virtual void OnDropped(absl::string_view reason) = 0;
  // A damaged database was set aside.
  virtual void OnSetAside() = 0;
};

struct AnswerStoreOptions {
  // Approximate limit on the bytes of questions and answers. The oldest go
  // first.
  int64_t max_bytes = int64_t{1} << 30;
  // Version of the program. Answers of another version are not found, because
  // its cost model may differ.
  std::string version;
  AnswerStoreObserver* observer = nullptr;  // May be null.
};

// Creates a store of answers in a database. The thread that inserts answers
// writes them. A writer thread takes over while another write is under way,
// after a slow write, and while the database cannot be written.
//
// While a database is away, nothing is found. Rows that are not as they were
// written are deleted. A damaged database is set aside if `place` can do so,
// now and later, and the store continues with a new one. Errors are those of
// SqlDatabase and Migrate.
absl::StatusOr<std::unique_ptr<AnswerStore>> CreateSqlAnswerStore(
    AnswerPlace place, const AnswerStoreOptions& options);

// Deletes the answers of all versions and tenants. Returns their number. Other
// processes may use a shared database meanwhile.
absl::StatusOr<int64_t> PurgeAnswers(AnswerPlace place,
                                     const AnswerStoreOptions& options);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_SQL_ANSWER_STORE_H_
