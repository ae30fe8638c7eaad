#ifndef TANGRAM_COORDINATOR_RPC_KEYED_COUNT_H_
#define TANGRAM_COORDINATOR_RPC_KEYED_COUNT_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// Limits on a count; 0: no limit.
struct CountLimits {
  int max_of_key = 0;
  int max_of_all = 0;
};

// Counts what is under way by key: calls of a tenant, watches from a host.
// Thread-safe.
class KeyedCount {
 public:
  explicit KeyedCount(const CountLimits& limits) : limits_(limits) {}

  // Counts one of the key until the handle is dropped. The count must outlive
  // the handle. Null if a limit is reached.
  std::shared_ptr<void> Begin(const std::string& key);

 private:
  const CountLimits limits_;
  Mutex mutex_;
  std::map<std::string, int> of_key_ ABSL_GUARDED_BY(mutex_);
  int of_all_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_KEYED_COUNT_H_
