#include "coordinator/dispatch/attempt_log.h"

#include <algorithm>

namespace tangram {
namespace {

bool IsOpen(const QueryAttempt& attempt) {
  return attempt.outcome == QueryEvent::kLeased;
}

}  // namespace

bool AttemptLog::Begin(WorkerId worker, const std::string& name, double now_s) {
  const bool is_hedge = std::any_of(attempts_.begin(), attempts_.end(), IsOpen);
  attempts_.push_back({.worker = name, .worker_id = worker, .leased_s = now_s});
  return is_hedge;
}

QueryAttempt* AttemptLog::FindOpen(WorkerId worker) {
  for (QueryAttempt& attempt : attempts_) {
    if (attempt.worker_id == worker && IsOpen(attempt)) return &attempt;
  }
  return nullptr;
}

void AttemptLog::End(WorkerId worker, QueryEvent outcome, double now_s) {
  QueryAttempt* const attempt = FindOpen(worker);
  if (attempt == nullptr) return;
  attempt->ended_s = now_s;
  attempt->outcome = outcome;
}

}  // namespace tangram
