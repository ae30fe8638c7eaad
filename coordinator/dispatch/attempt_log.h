#ifndef TANGRAM_COORDINATOR_DISPATCH_ATTEMPT_LOG_H_
#define TANGRAM_COORDINATOR_DISPATCH_ATTEMPT_LOG_H_

#include <string>
#include <vector>

#include "coordinator/dispatch/query_log.h"
#include "coordinator/dispatch/work_queue.h"

namespace tangram {

// The attempts of one query, one for each lease. Workers are told apart by
// their numbers in the pool: two may have the same name. Not thread-safe.
class AttemptLog {
 public:
  // Returns whether another worker is at work on the query already.
  bool Begin(WorkerId worker, const std::string& name, double now_s);
  // The attempt of `worker` that goes on; null: there is none.
  QueryAttempt* FindOpen(WorkerId worker);
  // Ends that attempt, if there is one.
  void End(WorkerId worker, QueryEvent outcome, double now_s);

  const std::vector<QueryAttempt>& attempts() const { return attempts_; }

 private:
  std::vector<QueryAttempt> attempts_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ATTEMPT_LOG_H_
