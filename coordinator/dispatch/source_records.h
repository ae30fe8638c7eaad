#ifndef TANGRAM_COORDINATOR_DISPATCH_SOURCE_RECORDS_H_
#define TANGRAM_COORDINATOR_DISPATCH_SOURCE_RECORDS_H_

#include <map>
#include <optional>

#include "common/base/infinity.h"
#include "coordinator/dispatch/worker_identity.h"

namespace tangram {

// Remembers what the sources of workers did with their tasks: whether they ever
// answered one, how often they were overtaken, and how often they were lost. A
// worker is overtaken if it holds a task for so long that another one takes it
// too, and answers first. It may be slow, or silent on purpose; both make the
// others wait. Records are by identity, so another connection changes nothing.
// Not thread-safe.
class SourceRecords {
 public:
  // Overtakings and losses are forgotten so long after the last one. Long
  // enough that a silent worker costs little, short enough for a machine that
  // was busy.
  static constexpr double kMemoryS = 600;

  explicit SourceRecords(double max_pause_s, double first_pause_s = 1)
      : max_pause_s_(max_pause_s), first_pause_s_(first_pause_s) {}

  // `now_s` must never go back. Beyond kMaxSources, the source that was noted
  // longest ago is forgotten, those that have answered last.

  // Notes that the worker was overtaken in a task that it had held for
  // `held_s`. It pauses. With k the times that it was overtaken,
  //
  //   pause = min(held · 2^k, max_pause),
  //
  // or max_pause if it never answered.
  void NoteOvertaken(const WorkerIdentity& worker, double held_s, double now_s);
  // Notes a right answer. It ends the pause. A late one leaves the worker as
  // often overtaken as it was, as any other does.
  void NoteAnswer(const WorkerIdentity& worker, double now_s);
  // Notes that a connection was lost with tasks.
  void NoteLoss(const WorkerIdentity& worker, double now_s);
  // Notes that a connection handed tasks back. One that ends in order does so
  // once. From the second time on that connections were lost or handed tasks
  // back without an answer between, the worker pauses. Ends within half
  // of first_pause count once. With n times in a row,
  //
  //   pause = min(first_pause · 2^(n − 2), max_pause).
  void NoteHandedBack(const WorkerIdentity& worker, double now_s);

  // Returns when its pause ends or has ended. Empty: there is none, or it has
  // answered since.
  std::optional<double> PausedUntil(const WorkerIdentity& worker,
                                    double now_s) const;
  // Returns whether it held tasks for so long, or so often, that it is probably
  // silent and not just slow. One that has answered before was overtaken twice
  // since.
  bool IsSilent(const WorkerIdentity& worker, double now_s) const;
  int TimesOvertaken(const WorkerIdentity& worker, double now_s) const;
  // Returns whether it ever gave a right answer.
  bool HasAnswered(const WorkerIdentity& worker) const;
  // Returns whether it has, and was lost at most once lately.
  bool IsTrusted(const WorkerIdentity& worker, double now_s) const;

 private:
  static constexpr double kNever = -kInfinity;

  struct Record {
    int num_overtaken = 0;
    double overtaken_s = kNever;
    double long_pause_s = 0;  // The pause after that, without its maximum.
    int num_in_row = 0;       // Overtakings since its last answer.
    int num_losses = 0;
    double last_loss_s = kNever;
    // Connections since its last answer that were lost or handed tasks back.
    int num_left_in_row = 0;
    double last_left_s = kNever;
    bool has_answered = false;
    double noted_s = 0;
  };

  // Returns null if nothing is remembered.
  const Record* Find(const WorkerIdentity& worker) const;
  // Returns null if it has not been overtaken lately, or has answered since.
  const Record* FindPaused(const WorkerIdentity& worker, double now_s) const;
  Record& RecordOf(const WorkerIdentity& worker, double now_s);
  void NoteLeft(Record& record, double now_s);

  const double max_pause_s_;
  const double first_pause_s_;
  std::map<WorkerIdentity, Record> records_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_SOURCE_RECORDS_H_
