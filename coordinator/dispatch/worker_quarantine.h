#ifndef TANGRAM_COORDINATOR_DISPATCH_WORKER_QUARANTINE_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORKER_QUARANTINE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/infinity.h"
#include "coordinator/dispatch/worker_identity.h"

namespace tangram {

struct QuarantineOptions {
  // This many wrong answers of one worker within window_s put it in quarantine.
  // 0: no quarantine.
  int max_rejections = 3;
  double window_s = 600;
  // Lost connections of one worker that are nearer than this count once: a host
  // that restarts or is cut off loses all of them within the limit of silence.
  double losses_apart_s = 25;
  // A worker that is of no use is held for so long, and for twice as long each
  // further time, 64 times as long at most; see NoteUseless. 0: never.
  double first_hold_s = 10;
};

// Holds the workers that get no more queries because their answers were wrong,
// or because they went away with queries that others could answer. Those that
// only keep queries from others are held for a while.
// The state is by identity, so another name, another version or another
// connection changes nothing. It lives in memory, so a restarted coordinator
// trusts every worker.
//
// Not thread-safe.
class WorkerQuarantine {
 public:
  struct Record {
    WorkerIdentity worker;
    std::string name;        // As the worker last called itself; for people.
    std::string version;     // Likewise.
    int64_t rejections = 0;  // Since the record began.
    std::string last_fault;  // As given.
    bool held = false;       // In quarantine.
    double held_since_s = 0;
    double held_until_s = kInfinity;  // Infinity: until it is released.
    bool is_held_for_a_while() const {
      return held && held_until_s < kInfinity;
    }
  };
  // Some 20 lines, as a program that died leaves. Twice as much would help no
  // reader, and all records would take 64 MiB.
  static constexpr size_t kMaxFaultBytes = 2000;

  explicit WorkerQuarantine(const QuarantineOptions& options)
      : options_(options) {}

  // A wrong answer.
  struct Fault {
    WorkerIdentity worker;
    std::string name;
    std::string version;
    std::string text;        // Printable, at most kMaxFaultBytes.
    int64_t connection = 0;  // Its WorkerId.
  };
  // Keeps the text of a fault that the worker may not be to blame for, so that
  // people see it.
  void NoteFault(const Fault& fault, double now_s);
  // Records a fault. Returns whether it puts the worker in quarantine; false if
  // it is there already. `now_s` must never go back. Beyond kMaxSources, the
  // worker whose last fault is oldest is forgotten: first of those that are
  // blamed for none, last of those in quarantine.
  bool NoteRejection(const Fault& fault, double now_s);
  // Likewise for a connection that was lost at `lost_s` with a query that
  // another worker answered.
  bool NoteLoss(const Fault& fault, double lost_s, double now_s);
  // Records that the worker took queries, or the time of the coordinator, and
  // gave nothing for it: it handed them back or stayed silent while others
  // answered, or its messages could not be read. Returns whether that puts it
  // in quarantine for a while: at the first time if it has never answered
  // (`is_new`) or was held before, else after max_rejections times without an
  // answer between. Faults within kApartS count once.
  bool NoteUseless(const Fault& fault, bool is_new, double now_s);
  // Records a fault of one connection of a worker whose others are sound.
  void NoteBeside(const Fault& fault, double now_s);
  // Notes a right answer. The losses and the useless times before it count no
  // more: the worker was restarted, and is of use. Wrong answers still count.
  void NoteAnswer(const WorkerIdentity& worker);

  bool Holds(const WorkerIdentity& worker) const;
  // Returns null if no fault is remembered.
  const Record* Find(const WorkerIdentity& worker) const;
  // Forgets the wrong answers of a worker. Returns whether it was in
  // quarantine. Does nothing if it was not.
  bool Release(const WorkerIdentity& worker);

  // Ends the quarantine of a worker that was held for a while. The next time
  // is twice as long.
  void EndHold(const WorkerIdentity& worker);

  std::vector<Record> Held() const;  // Sorted by identity.
  int num_held() const { return num_held_; }

 private:
  struct Rejection {
    double noted_s = 0;
    bool is_loss = false;
  };
  struct Entry {
    Record record;
    std::deque<Rejection> recent;  // The latest, oldest first.
    double last_s = 0;
    std::optional<double> last_loss_s;
    int num_useless = 0;  // In a row.
    std::optional<double> last_useless_s;
    int num_holds = 0;  // Since its last answer.
  };
  static constexpr double kApartS = 1;
  static constexpr int kMaxDoublings = 6;

  bool Note(const Fault& fault, double now_s, bool is_loss);
  bool Hold(Record& record, double until_s, double now_s);
  Entry& EntryOf(const Fault& fault, double now_s);
  void ForgetOne();

  const QuarantineOptions options_;
  std::map<WorkerIdentity, Entry> entries_;
  int num_held_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORKER_QUARANTINE_H_
