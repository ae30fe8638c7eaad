#include "coordinator/rpc/keyed_count.h"

namespace tangram {
namespace {

bool IsReached(int limit, int count) { return limit > 0 && count >= limit; }

}  // namespace

std::shared_ptr<void> KeyedCount::Begin(const std::string& key) {
  const MutexLock lock(mutex_);
  if (IsReached(limits_.max_of_all, of_all_)) return nullptr;
  const auto it = of_key_.try_emplace(key, 0).first;
  if (IsReached(limits_.max_of_key, it->second)) return nullptr;
  ++it->second;
  ++of_all_;
  return {this, [it](KeyedCount* count) {
            const MutexLock end_lock(count->mutex_);
            --count->of_all_;
            if (--it->second == 0) count->of_key_.erase(it);
          }};
}

}  // namespace tangram
