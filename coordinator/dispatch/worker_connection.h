#ifndef TANGRAM_COORDINATOR_DISPATCH_WORKER_CONNECTION_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORKER_CONNECTION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/parallelizer/query.h"
#include "coordinator/dispatch/query_key.h"
#include "coordinator/dispatch/work_queue.h"
#include "coordinator/dispatch/worker_identity.h"

// The pool sends leases to a worker and hears answers from it.

namespace tangram {

// How a worker introduces itself. All but `identity` is its own word.
struct WorkerInfo {
  std::string name;
  std::string version;  // The version of Tangram. Empty: unknown.
  int capacity = 1;     // Queries that it runs at once.
  std::vector<AdapterInfo> adapters;
  WorkerIdentity identity;

  // Returns whether the worker offers some version of the adapter.
  bool Offers(absl::string_view adapter) const;
};

// A query as a worker gets it.
struct LeasedQuery {
  TaskId task = 0;
  AdapterId adapter;
  SharedContext context;  // Null if the query refers to none.
  Query query;
};

// The reason why an answer is rejected. All are faults of the worker.
enum class RejectionReason {
  kNone,
  kDigest,   // The digest does not match the bytes.
  kMessage,  // The message cannot be parsed.
  kLaw,      // CheckAnswer refuses it.
  kError,    // An error that says nothing about the question; see IsVerdict.
};
inline constexpr RejectionReason kRejectionReasons[] = {
    RejectionReason::kDigest, RejectionReason::kMessage, RejectionReason::kLaw,
    RejectionReason::kError};

// Returns the name used in metrics: "digest". "" for kNone.
const char* NameOf(RejectionReason reason);

// Returns whether an error is an answer: the question is malformed
// (kInvalidArgument) or of a model that the adapter does not know
// (kUnimplemented). Every other error, a crash or a timeout say, tells about
// the worker; another may answer. "Does not fit" is no error at all.
//
// A verdict cannot be checked, so all others that could be asked are asked
// before it is believed; see WorkerPool::NoteVerdict.
bool IsVerdict(const absl::Status& error);

// An answer as it comes from a worker.
struct WorkerAnswer {
  TaskId task = 0;
  // The worker's error, or the fault of a rejected answer.
  absl::StatusOr<Answer> answer;
  // Seconds in the worker, before the search and in it, as it reports them.
  double waited_s = 0;
  double search_s = 0;
  RejectionReason rejection = RejectionReason::kNone;  // Set by the reader.
};

// The pool's connection to one worker. Calls come one at a time, with the pool
// locked. They must be short and must not call the pool.
class WorkerConnection {
 public:
  virtual ~WorkerConnection() = default;
  virtual void Lease(std::vector<LeasedQuery> queries) = 0;
  // The answer is no longer needed.
  virtual void Cancel(TaskId task) = 0;
  // The worker need send no message for so long; see WorkQueue::AllowSilence.
  virtual void AllowSilence(double silence_s) = 0;
  // The worker is considered lost. No other call follows.
  virtual void Close() = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORKER_CONNECTION_H_
