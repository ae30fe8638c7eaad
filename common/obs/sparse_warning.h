#ifndef TANGRAM_COMMON_OBS_SPARSE_WARNING_H_
#define TANGRAM_COMMON_OBS_SPARSE_WARNING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// Decides when a repeated event is worth a log line: the first time, and then
// once a minute. Not thread-safe.
class SparseTimes {
 public:
  // Counts an event. If it is time for a line, returns the number of events
  // since the last line.
  std::optional<int64_t> Note(double now_s);
  // Returns whether the next event is worth a line. So forgetting this object
  // loses no line, only the number of events since the last one.
  bool IsDue(double now_s) const;

 private:
  std::optional<double> last_s_;
  int64_t count_ = 0;
};

// Like SparseTimes, separately for each kind of events, by the steady clock.
// Others may choose the kinds: those beyond kMaxKinds at a time count as one.
// Thread-safe.
class SparseKinds {
 public:
  // More than the lines that anyone reads in a minute.
  static constexpr size_t kMaxKinds = 1000;

  std::optional<int64_t> Note(const std::string& kind);

 private:
  Mutex mutex_;
  std::map<std::string, SparseTimes> times_ ABSL_GUARDED_BY(mutex_);
  SparseTimes others_ ABSL_GUARDED_BY(mutex_);
};

// A log line about a repeated failure. Thread-safe.
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
