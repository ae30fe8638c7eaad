#ifndef TANGRAM_COORDINATOR_DISPATCH_OVERTAKEN_WORKERS_H_
#define TANGRAM_COORDINATOR_DISPATCH_OVERTAKEN_WORKERS_H_

#include <cstddef>
#include <map>
#include <optional>

#include "coordinator/dispatch/worker_identity.h"

namespace tangram {

// Remembers the workers that were overtaken: they held a task for so long that
// another worker took it too, and answered first. A worker may be slow, or
// silent on purpose; both make the others wait. The record is by identity, so
// another connection changes nothing. Not thread-safe.
class OvertakenWorkers {
 public:
  // A worker is forgotten so long after it was last overtaken. Long enough that
  // a silent one costs little, short enough for a machine that was busy.
  static constexpr double kMemoryS = 600;
  // The most workers remembered, more than one coordinator has.
  static constexpr size_t kMaxRecords = 1 << 14;

  // `now_s` must never go back. Beyond kMaxRecords, the worker that was
  // overtaken longest ago is forgotten.
  void Note(const WorkerIdentity& worker, double now_s);
  // Notes that the worker answered before any other.
  void NoteAnswer(const WorkerIdentity& worker);
  // Returns when it was last overtaken, if it has not answered since and is not
  // forgotten.
  std::optional<double> SilentSince(const WorkerIdentity& worker,
                                    double now_s) const;
  // Returns how often it was overtaken, until it is forgotten.
  int Count(const WorkerIdentity& worker, double now_s) const;
  bool empty() const { return records_.empty(); }

 private:
  struct Record {
    int count = 0;
    double last_s = 0;
    bool has_answered = false;  // Since then.
  };

  void MakeRoom(double now_s);

  std::map<WorkerIdentity, Record> records_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_OVERTAKEN_WORKERS_H_
