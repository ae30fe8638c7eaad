#ifndef TANGRAM_COORDINATOR_DISPATCH_QUERY_LOG_H_
#define TANGRAM_COORDINATOR_DISPATCH_QUERY_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/parallelizer/query.h"

namespace tangram {

enum class QueryEvent {
  kLeased,
  kHedged,  // Leased to a second worker, the first being slow.
  kAnswered,
  kFailed,
  kLost,  // With its worker; will be leased again.
  kHandedBack,
  kCancelled,
  kGivenUp,
  kRejected,  // The answer was wrong; see CheckAnswer.
};
inline constexpr QueryEvent kQueryEvents[] = {
    QueryEvent::kLeased,    QueryEvent::kHedged,  QueryEvent::kAnswered,
    QueryEvent::kFailed,    QueryEvent::kLost,    QueryEvent::kHandedBack,
    QueryEvent::kCancelled, QueryEvent::kGivenUp, QueryEvent::kRejected};

// "handed_back"; as used in metrics and traces.
const char* NameOf(QueryEvent event);

// One worker's hold on a query.
struct QueryAttempt {
  std::string worker;     // Its name, for people: two may have the same.
  int64_t worker_id = 0;  // The pool's number for it; 0: a thread.
  double leased_s = 0;
  double ended_s = 0;
  QueryEvent outcome = QueryEvent::kLeased;  // As long as it lasts.
  // By the worker's word, of answers.
  double waited_s = 0;  // In the worker, for a thread.
  double search_s = 0;
};

// A query from its asking to its end. Refers to what outlives the call that it
// is an argument of.
struct QueryRecord {
  int64_t id = 0;  // In the logs of coordinator and workers; 0: was not asked.
  const AdapterId& adapter;
  const PairContext* context = nullptr;  // Null: refers to none.
  const Query& query;
  bool is_cached = false;
  double asked_s = 0;
  double ended_s = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::vector<QueryAttempt> attempts;
};

// Told of every query of a plan once it has ended. Calls come from any thread,
// with locks held: they must be short.
class QueryLog {
 public:
  virtual ~QueryLog() = default;
  virtual void OnQuery(const QueryRecord& record) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_QUERY_LOG_H_
