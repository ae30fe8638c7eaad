#ifndef TANGRAM_COORDINATOR_DISPATCH_WORKER_QUARANTINE_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORKER_QUARANTINE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tangram {

// Identifies a worker across connections. A worker that comes back with another
// version of Tangram counts as another worker, because the fault may be fixed.
struct WorkerIdentity {
  std::string name;
  std::string version;
  auto operator<=>(const WorkerIdentity&) const = default;
};

struct QuarantineOptions {
  // This many wrong answers of one worker within window_s put it in quarantine.
  // 0: no quarantine.
  int max_rejections = 3;
  double window_s = 600;
};

// Holds the workers that get no more queries because their answers were wrong.
// The state is by name and version, not by connection, so dialing again changes
// nothing. It lives in memory, so a restarted coordinator trusts every worker.
//
// Not thread-safe.
class WorkerQuarantine {
 public:
  struct Record {
    WorkerIdentity worker;
    int64_t rejections = 0;  // Since the record began.
    std::string last_fault;
    bool held = false;  // In quarantine.
    double held_since_s = 0;
  };

  explicit WorkerQuarantine(const QuarantineOptions& options)
      : options_(options) {}

  // Records a wrong answer of `worker`. Returns whether it puts the worker in
  // quarantine; false if it is there already. `now_s` must never go back.
  bool NoteRejection(const WorkerIdentity& worker, const std::string& fault,
                     double now_s);

  bool Holds(const WorkerIdentity& worker) const;
  // Returns null if no wrong answer is remembered.
  const Record* Find(const WorkerIdentity& worker) const;
  // Forgets the wrong answers of all workers of that name. Returns how many
  // were in quarantine.
  int Release(absl::string_view name);

  std::vector<Record> Held() const;  // Sorted by name.
  int num_held() const { return num_held_; }

 private:
  struct Entry {
    Record record;
    std::deque<double> recent_s;  // Times of the latest rejections.
  };

  void ForgetOne();

  const QuarantineOptions options_;
  std::map<WorkerIdentity, Entry> entries_;
  int num_held_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORKER_QUARANTINE_H_
