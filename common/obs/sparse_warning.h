#ifndef TANGRAM_COMMON_OBS_SPARSE_WARNING_H_
#define TANGRAM_COMMON_OBS_SPARSE_WARNING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// Says when something that happens again and again is worth a line: the first
// time, and then once a minute. Not thread-safe.
class SparseTimes {
 public:
  // It happened; how often since the last line, if it is time for one.
  std::optional<int64_t> Note(double now_s);

 private:
  std::optional<double> last_s_;
  int64_t count_ = 0;
};

// The same for each of a few kinds of things, by the steady clock. Thread-safe.
class SparseKinds {
 public:
  std::optional<int64_t> Note(const std::string& kind);

 private:
  Mutex mutex_;
  std::map<std::string, SparseTimes> times_ ABSL_GUARDED_BY(mutex_);
};

// A warning about what goes on failing. Thread-safe.
class SparseWarning {
 public:
  explicit SparseWarning(const char* what) : what_(what) {}
  void Tell(const std::string& reason);

 private:
  const char* const what_;
  SparseKinds times_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_OBS_SPARSE_WARNING_H_
