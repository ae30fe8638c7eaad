#ifndef TANGRAM_COORDINATOR_DISPATCH_WORKER_QUARANTINE_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORKER_QUARANTINE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tangram {

// A worker as it is known from one connection to the next. One that comes back
// with another version of Tangram is another worker: the fault may be mended.
struct WorkerIdentity {
  std::string name;
  std::string version;
  auto operator<=>(const WorkerIdentity&) const = default;
};

struct QuarantineOptions {
  // Wrong answers of one worker within the window that put it in quarantine;
  // 0: none do.
  int max_rejections = 3;
  double window_s = 600;
};

// The workers that are not asked any more because their answers were wrong.
// The state is about names, not connections, so that dialing again changes
// nothing. Lives in memory: a coordinator that starts trusts everybody anew.
//
// Not thread-safe.
class WorkerQuarantine {
 public:
  struct Record {
    WorkerIdentity worker;
    int64_t rejections = 0;  // Since the first in memory.
    std::string last_fault;
    bool held = false;  // In quarantine.
    double held_since_s = 0;
  };

  explicit WorkerQuarantine(const QuarantineOptions& options)
      : options_(options) {}

  // An answer of `worker` was wrong. Returns whether that puts it in
  // quarantine; false if it is there already. `now_s` must never go back.
  bool NoteRejection(const WorkerIdentity& worker, const std::string& fault,
                     double now_s);

  bool Holds(const WorkerIdentity& worker) const;
  // Null: its answers were right, as far as is remembered.
  const Record* Find(const WorkerIdentity& worker) const;
  // Forgets the wrong answers of all workers of that name. Returns how many
  // were in quarantine.
  int Release(absl::string_view name);

  std::vector<Record> Held() const;  // By name.
  int num_held() const { return num_held_; }

 private:
  struct Entry {
    Record record;
    std::deque<double> recent_s;  // Of the latest rejections.
  };

  void ForgetOne();

  const QuarantineOptions options_;
  std::map<WorkerIdentity, Entry> entries_;
  int num_held_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORKER_QUARANTINE_H_
