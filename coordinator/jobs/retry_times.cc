#include "coordinator/jobs/retry_times.h"

namespace tangram {

double RetryTimes::NextDelayS(const std::string& tenant) {
  const double now_s = options_.now_s();
  const double first_s = now_s + options_.first_s;
  const MutexLock lock(mutex_);
  if (!next_s_.contains(tenant)) {
    std::erase_if(next_s_,
                  [now_s](const auto& entry) { return entry.second < now_s; });
  }
  double& next_s = next_s_.try_emplace(tenant, first_s).first->second;
  if (next_s < first_s || next_s > now_s + options_.last_s) next_s = first_s;
  const double delay_s = next_s - now_s;
  next_s += options_.apart_s;
  return delay_s;
}

}  // namespace tangram
