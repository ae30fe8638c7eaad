#include "coordinator/rpc/retry_times.h"

namespace tangram {

double RetryTimes::NextDelayS(const std::string& tenant) {
  const double now_s = now_s_();
  const double first_s = now_s + kFirstS;
  const MutexLock lock(mutex_);
  if (!next_s_.contains(tenant)) {
    std::erase_if(next_s_,
                  [now_s](const auto& entry) { return entry.second < now_s; });
  }
  double& next_s = next_s_.try_emplace(tenant, first_s).first->second;
  if (next_s < first_s || next_s > now_s + kLastS) next_s = first_s;
  const double delay_s = next_s - now_s;
  next_s += kApartS;
  return delay_s;
}

}  // namespace tangram
