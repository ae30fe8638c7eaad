#include "coordinator/dispatch/query_log.h"

namespace tangram {

const char* NameOf(QueryEvent event) {
  switch (event) {
    case QueryEvent::kLeased:
      return "leased";
    case QueryEvent::kHedged:
      return "hedged";
    case QueryEvent::kAnswered:
      return "answered";
    case QueryEvent::kFailed:
      return "failed";
    case QueryEvent::kLost:
      return "lost";
    case QueryEvent::kHandedBack:
      return "handed_back";
    case QueryEvent::kCancelled:
      return "cancelled";
    case QueryEvent::kGivenUp:
      return "given_up";
    case QueryEvent::kRejected:
      return "rejected";
    case QueryEvent::kTimedOut:
      return "timed_out";
  }
  return "unknown";
}

}  // namespace tangram
