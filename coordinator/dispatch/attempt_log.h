#ifndef TANGRAM_COORDINATOR_DISPATCH_ATTEMPT_LOG_H_
#define TANGRAM_COORDINATOR_DISPATCH_ATTEMPT_LOG_H_

#include <string>
#include <vector>

#include "coordinator/dispatch/query_log.h"
#include "coordinator/dispatch/work_queue.h"

namespace tangram {

// Holds the attempts of one query, one per lease. Workers are identified by
// their numbers in the pool, because two may have the same name. Not
// thread-safe.
class AttemptLog {
 public:
  // Begins an attempt. Returns whether another worker already holds the query.
  bool Begin(WorkerId worker, const std::string& name, double now_s);
  // Returns the open attempt of `worker`. Null: there is none.
  QueryAttempt* FindOpen(WorkerId worker);
  // Ends that attempt, if there is one.
  void End(WorkerId worker, QueryEvent outcome, double now_s);

  const std::vector<QueryAttempt>& attempts() const { return attempts_; }

 private:
  std::vector<QueryAttempt> attempts_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ATTEMPT_LOG_H_
