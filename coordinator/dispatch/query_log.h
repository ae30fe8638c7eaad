#ifndef TANGRAM_COORDINATOR_DISPATCH_QUERY_LOG_H_
#define TANGRAM_COORDINATOR_DISPATCH_QUERY_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/parallelizer/query.h"

namespace tangram {

// The events of a query.
enum class QueryEvent {
  kLeased,  // A worker took it.
  kHedged,  // Leased to a second worker, because the first is slow.
  kAnswered,
  kFailed,      // The answer is an error.
  kLost,        // The worker was lost. The query is leased again.
  kHandedBack,  // Returned by the worker or revoked.
  kCancelled,   // No longer needed.
  kGivenUp,     // Too many workers were lost with it.
  kRejected,    // The answer was wrong; see CheckAnswer.
  kTimedOut,    // Taken from a worker that held it for too long.
};
inline constexpr QueryEvent kQueryEvents[] = {
    QueryEvent::kLeased,    QueryEvent::kHedged,  QueryEvent::kAnswered,
    QueryEvent::kFailed,    QueryEvent::kLost,    QueryEvent::kHandedBack,
    QueryEvent::kCancelled, QueryEvent::kGivenUp, QueryEvent::kRejected,
    QueryEvent::kTimedOut};

// Returns the name used in metrics and traces: "handed_back".
const char* NameOf(QueryEvent event);

// One worker's hold on a query.
struct QueryAttempt {
  std::string worker;     // Name for people; not unique.
  int64_t worker_id = 0;  // Its number in the pool; 0: a thread.
  double leased_s = 0;
  double ended_s = 0;
  QueryEvent outcome = QueryEvent::kLeased;  // kLeased while open.
  // As reported by the worker, for answers only.
  double waited_s = 0;  // Seconds in the worker before a thread was free.
  double search_s = 0;  // Seconds in the search.
};

// The life of a query, from the question to its end. Its references are valid
// during the call that it is an argument of.
struct QueryRecord {
  int64_t id =
      0;  // As in the logs of coordinator and workers; 0: it was not asked.
  const AdapterId& adapter;
  const PairContext* context = nullptr;  // Null: the query needs none.
  const Query& query;
  bool is_cached = false;
  double asked_s = 0;
  double ended_s = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::vector<QueryAttempt> attempts;
};

// Receives every query of a plan once it has ended. Calls come from any thread
// with locks held, so they must be short.
class QueryLog {
 public:
  virtual ~QueryLog() = default;
  virtual void OnQuery(const QueryRecord& record) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_QUERY_LOG_H_
