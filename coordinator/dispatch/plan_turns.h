#ifndef TANGRAM_COORDINATOR_DISPATCH_PLAN_TURNS_H_
#define TANGRAM_COORDINATOR_DISPATCH_PLAN_TURNS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"
#include "coordinator/dispatch/work_queue.h"

namespace tangram {

struct PlanTurnsOptions {
  int num_turns = 4;     // Plans that compute at once: as many as cores.
  double slice_s = 0.1;  // A plan keeps its turn for at least so long.
  // Returns the seconds of a clock that never goes back.
  std::function<double()> now_s;
};

// Lets plans compute in turns. More plans may have begun than compute at once;
// the others pause, between two steps, and keep what they have found. Turns
// follow the measured seconds, not the order of arrival:
//
// - A key (tenant) with a plan to compute has one turn at once, also beyond
//   num_turns. Threads of the system then share the cores. Further turns, while
//   there are some, go to the key with the fewest, and are taken back when
//   another key comes.
// - Among the plans of a key, the one that has had the least time per weight
//   comes first (least attained service: Kleinrock, 1967), with weight
//   2^priority. So a short plan does not wait for long ones, and a higher
//   priority is felt at once.
//
// A key that comes back begins with the time of the key that has had the least,
// so it neither waits for others to catch up nor owes what nobody missed.
// Thread-safe.
class PlanTurns {
 public:
  explicit PlanTurns(PlanTurnsOptions options) : options_(std::move(options)) {}

  // The place of one plan. The object must not outlive the PlanTurns.
  class Plan;
  struct Leaves {
    void operator()(Plan* plan) const;
  };
  using Turn = std::unique_ptr<Plan, Leaves>;

  // Waits for the first turn of a plan, which leaves when the result is
  // destroyed. Returns early, without a turn, once `should_stop` returns true;
  // it is polled. A plan computes in one thread.
  Turn Begin(const BatchShare& share, const std::function<bool()>& should_stop);
  // Called between the steps of a plan. If another plan should have the turn,
  // waits for the next one, or until `should_stop` returns true.
  void Yield(Plan& plan, const std::function<bool()>& should_stop);
  // Between these, the plan waits for workers and needs no turn. The time does
  // not count.
  void Rest(Plan& plan);
  void Resume(Plan& plan, const std::function<bool()>& should_stop);

  int num_active();
  int num_paused();

 private:
  struct Key {
    double used_s = 0;
    int num_plans = 0;
    int num_active = 0;
  };

  void Leave(Plan& plan);
  void Activate(Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Pause(Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasOneTooMany(const Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Charge(Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveFreeTurns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the next plan to get a turn: of all, or of one key. Null: none
  // waits.
  Plan* Next(const std::string* key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Plan* ShouldReplace(const Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AwaitTurn(Plan& plan, const std::function<bool()>& should_stop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PlanTurnsOptions options_;
  std::atomic<int> num_waiting_ = 0;      // Neither active nor resting.
  std::atomic<bool> has_excess_ = false;  // More are active than num_turns.
  Mutex mutex_;
  ConditionVariable changed_;
  std::map<std::string, Key> keys_ ABSL_GUARDED_BY(mutex_);
  std::list<Plan*> plans_ ABSL_GUARDED_BY(mutex_);  // In order of arrival.
  int num_active_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_PLAN_TURNS_H_
